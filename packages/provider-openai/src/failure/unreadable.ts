/** How servers say that another model, account or server has sealed the reasoning of the conversation. */
export const UNREADABLE =
  /encrypted[ _](?:content|reasoning).{0,200}(?:could not be (?:verified|decrypted)|different (?:account or )?model|not issued to this caller)|invalid .?signature.? in .?thinking/i;
