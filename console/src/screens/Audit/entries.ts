import { signal } from '@preact/signals'
import { call } from '../../api/client.ts'
import type { AuditEntry, Key } from '../../api/types.ts'
import { onSignOut } from '../../app/session.ts'

/** The entries of the audit log as sentences. */

const verbs: Record<string, string> = {
  'key.created': 'was created',
  'key.updated': 'was changed',
  'key.rotated': 'was rotated',
  'key.revoked': 'was revoked',
  'key.banned': 'was banned',
  'key.unbanned': 'was freed from its ban',
  'webhook.created': 'was registered',
  'webhook.updated': 'was changed',
  'webhook.paused': 'was paused',
  'webhook.resumed': 'was resumed',
  'webhook.disabled': 'was disabled',
  'webhook.rotated': 'got a new signing secret',
  'webhook.tested': 'was sent a test message',
  'webhook.retried': 'was sent a message again',
  'webhook.deleted': 'was deleted',
  'order.customer_erased': "had its adopter's data erased",
  'database.imported': 'had data imported',
  'database.restored': 'was restored from a backup',
}

/** The names of keys. The ids are shown until they are known. */
const keyNames = signal<ReadonlyMap<number, string>>(new Map())
const keysRead = 100
const requested = new Set<number>()

/** The newest keys are loaded together, others one by one when an entry names them. */
export async function loadKeyNames(): Promise<void> {
  const keys = await call('listKeys', { query: { limit: keysRead } }).catch(() => [])
  remember(keys)
}

function remember(keys: readonly Pick<Key, 'id' | 'name'>[]): void {
  for (const { id } of keys) requested.add(id)
  keyNames.value = new Map([...keyNames.value, ...keys.map(({ id, name }) => [id, name] as const)])
}

function nameOf(id: number): string | undefined {
  const name = keyNames.value.get(id)
  if (name === undefined && keyNames.value.size > 0 && !requested.has(id)) {
    requested.add(id)
    void call('getKey', { params: { keyId: id } }).then(
      (key) => remember([key]),
      () => {},
    )
  }
  return name
}

onSignOut(() => {
  keyNames.value = new Map()
  requested.clear()
})

/** "Key 3 “Website”" */
export function nameOfKey(id: number): string {
  const name = nameOf(id)
  return name === undefined ? `Key ${id}` : `Key ${id} “${name}”`
}

export type Sentence = { subject: string; href: string | undefined; verb: string; actor: string }

const capitalized = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}`

export function sentenceOf({ action, subject, actor }: AuditEntry): Sentence {
  const [, kind, id] = /^(key|webhook) (\d+)/.exec(subject) ?? []
  const isKey = subject === `key ${id}`
  return {
    subject: isKey ? nameOfKey(Number(id)) : capitalized(subject),
    href: kind === undefined || action === 'webhook.deleted' ? undefined : `${kind}s/${id}`,
    verb: verbs[action] ?? `: ${action}`,
    actor: actorOf(actor),
  }
}

function actorOf({ keyId, command }: AuditEntry['actor']): string {
  if (keyId !== undefined) {
    const name = nameOfKey(keyId)
    return `key${name.slice('Key'.length)}`
  }
  return command === 'serve' ? 'the service itself' : `the command line (${command})`
}
