/** Replaces control characters, which a terminal would obey. Some texts come from clients, and from files of others. */
export const withoutControls = (text: string): string => text.replaceAll(/\p{Cc}/gu, '\ufffd')
