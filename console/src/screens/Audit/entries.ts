import { type AuditEntry, type Int64, parseInt64 } from '../../../../client/src/index.ts'
import { capitalize } from '../../app/format.ts'
import { NameCache } from '../../app/nameCache.ts'
import { onSignOut } from '../../app/session.ts'
import { store } from '../../app/store.ts'

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
  'store.updated': 'was changed',
  'database.imported': 'had data imported',
  'database.restored': 'was restored from a backup',
}

const keysRead = 100

/** The names of keys. The ids are shown until they are known. */
const keyNames = new NameCache(async (ids) => {
  // The newest keys are loaded together, older ones one by one.
  const keys = (await store.keys.list({ limit: keysRead }).page()).items
  const known = new Set(keys.map(({ id }) => id))
  const others = ids.filter((id) => !known.has(id))
  const loaded = await Promise.all(others.map((keyId) => store.keys.get(keyId).catch(() => undefined)))
  return [...keys, ...loaded.filter((key) => key !== undefined)]
})

onSignOut(() => keyNames.clear())

/** "Key 3 “Website”" */
function nameOfKey(id: Int64): string {
  const name = keyNames.get(id)
  return name === undefined ? `Key ${id}` : `Key ${id} “${name}”`
}

type Sentence = { subject: string; href: string | undefined; verb: string; actor: string }

export function sentenceOf({ action, subject, actor }: AuditEntry): Sentence {
  const [, kind, id] = /^(key|webhook) (\d+)/.exec(subject) ?? []
  const isKey = subject === `key ${id}`
  return {
    subject: isKey ? nameOfKey(parseInt64(id ?? '')) : capitalize(subject),
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
