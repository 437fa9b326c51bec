/** With a comma between thousands. */
export const formatCount = (count: number): string => count.toLocaleString('en')
