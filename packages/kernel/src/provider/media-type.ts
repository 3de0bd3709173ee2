/** A media type as servers compare it: in small letters, and without parameters such as `charset`. */
export function plainType(mediaType: string): string {
  const [type = ""] = mediaType.split(";", 1);
  return type.trim().toLowerCase();
}
