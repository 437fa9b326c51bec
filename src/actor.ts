/** An API key, or a command of the command line. `serve` is the service itself. */
export type Actor = { readonly keyId: number } | { readonly command: string }

/** As the change log stores it. */
export const actorText = (actor: Actor): string =>
  'keyId' in actor ? `key ${actor.keyId}` : `command ${actor.command}`

export function parseActor(text: string | null): Actor | undefined {
  const [, kind, name = ''] = text?.match(/^(key|command) (.+)$/) ?? []
  if (kind === undefined) return undefined
  return kind === 'key' ? { keyId: Number(name) } : { command: name }
}
