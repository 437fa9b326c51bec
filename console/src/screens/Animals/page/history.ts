import type { HistoryEntry } from '../../../../../client/src/index.ts'
import { parseInt64 } from '../../../../../client/src/index.ts'
import { categoryName } from '../../../app/categories.ts'
import type { IconName } from '../../../components/Icon.tsx'

/** The history of an animal as sentences. */

/** The same change by the same actor within this time is one sentence. */
const togetherMs = 10 * 60_000

type Line = {
  readonly entry: HistoryEntry
  /** How many entries it stands for. */
  readonly count: number
  readonly actor: string
  readonly text: string
  readonly icon: IconName
}

const verbs: Readonly<Record<string, string>> = {
  'pet.created': 'added this animal',
  'pet.deleted': 'removed this animal',
  'profile.updated': 'changed the profile',
  'photo.added': 'added a photo',
  'photo.updated': 'changed a photo',
  'photo.removed': 'removed a photo',
}
/** What is said of several entries. */
const manyVerbs: Readonly<Record<string, (count: number) => string>> = {
  'photo.added': (count) => `added ${count} photos`,
  'photo.updated': () => 'changed photos',
  'photo.removed': (count) => `removed ${count} photos`,
}

const icons: Readonly<Record<string, IconName>> = {
  pet: 'paw',
  profile: 'audit',
  photo: 'photo',
  order: 'orders',
}

/** Newest first, as the API lists them. */
export function linesOf(entries: readonly HistoryEntry[]): Line[] {
  const lines: Line[] = []
  for (const [index, entry] of entries.entries()) {
    const last = lines.at(-1)
    if (last && isTogether(last.entry, entry)) {
      const count = last.count + 1
      lines[lines.length - 1] = { ...last, count, text: manyVerbs[entry.type]?.(count) ?? last.text }
      continue
    }
    const [kind = ''] = entry.type.split('.')
    const text = textOf(entry, entries.slice(index + 1))
    lines.push({ entry, count: 1, actor: actorOf(entry), text, icon: icons[kind] ?? 'audit' })
  }
  return lines
}

const isTogether = (newer: HistoryEntry, older: HistoryEntry): boolean =>
  /^(profile|photo)\./.test(newer.type) &&
  newer.type === older.type &&
  actorOf(newer) === actorOf(older) &&
  Date.parse(newer.createdAt) - Date.parse(older.createdAt) < togetherMs

function actorOf({ actor }: HistoryEntry): string {
  if (actor?.keyId !== undefined) return actor.name ?? `Key ${actor.keyId}`
  return actor?.command === undefined || actor.command === 'serve'
    ? 'The service'
    : `The command line (${actor.command})`
}

function textOf(entry: HistoryEntry, older: readonly HistoryEntry[]): string {
  const { type, data } = entry
  if (type === 'pet.updated') return changeOf(entry, older)
  if (type.startsWith('order.')) return `${type.slice('order.'.length)} order ${data.id}`
  return verbs[type] ?? `: ${type}`
}

/** What a change of the animal was, by the entry before it. */
function changeOf({ data }: HistoryEntry, older: readonly HistoryEntry[]): string {
  const before = older.find(({ type }) => type.startsWith('pet.'))?.data
  const isChanged = (name: string) => before !== undefined && before[name] !== data[name]
  const changes = [
    isChanged('name') && `renamed it from ${before?.name} to ${data.name}`,
    isChanged('categoryId') && `moved it to ${categoryName(parseInt64(String(data.categoryId)))}`,
    isChanged('status') && `marked it as ${data.status}`,
  ].filter((text) => text !== false)
  return changes.length > 0 ? changes.join(' and ') : 'changed this animal'
}
