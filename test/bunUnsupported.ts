/** Tests that do not run with the service on Bun, and why. Without `tests` it is the whole file. */
export const bunUnsupported: readonly { file: string; tests?: readonly string[]; reason: string }[] = []
