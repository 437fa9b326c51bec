/** They would change the terminal. Some texts come from clients, and from files that others have made. */
export const withoutControls = (text: string): string => text.replaceAll(/\p{Cc}/gu, '\ufffd')
