import { useState } from 'preact/hooks'
import type { KnownEventType, Webhook, WebhookWithSecret } from '../../../../client/src/index.ts'
import { eventTypes, isPrivateEvent } from '../../../../src/events/event.ts'
import { changedFields } from '../../app/changedFields.ts'
import { hasScope } from '../../app/session.ts'
import { store } from '../../app/store.ts'
import { CheckGroup } from '../../components/CheckGroup.tsx'
import { TextField } from '../../components/Field.tsx'
import { FormDialog, useForm } from '../../components/FormDialog.tsx'
import { FormError } from '../../components/FormError.tsx'

type WebhookDialogProps = {
  /** Undefined for a new webhook. */
  webhook?: Webhook
  onSaved(webhook: Webhook | WebhookWithSecret): void
  onClose(): void
}

/** Events about keys are for operators. */
const typeOptions = () =>
  eventTypes
    .filter((type) => !isPrivateEvent(type) || hasScope('keys:manage'))
    .map((type) => ({ value: type, label: type }))

type WebhookFields = { url: string; events: KnownEventType[] }
const update = (webhook: Webhook, body: Partial<WebhookFields>): Webhook | Promise<Webhook> =>
  Object.keys(body).length === 0 ? webhook : store.webhooks.update(webhook.id, body)

export function WebhookDialog({ webhook, onSaved, onClose }: WebhookDialogProps) {
  // The webhook may be loaded again while the dialog is open.
  const [initial] = useState({ url: webhook?.url ?? '', events: webhook?.events ?? [] })
  const [url, setUrl] = useState(initial.url)
  const [events, setEvents] = useState<readonly string[]>(initial.events)
  const [missing, setMissing] = useState<{ url?: string | undefined; events?: string | undefined }>({})

  const form = useForm(
    () => {
      const found = {
        ...(url.trim() === '' && { url: 'Enter the address of the endpoint.' }),
        ...(events.length === 0 && { events: 'Choose at least one event.' }),
      }
      setMissing(found)
      return Object.keys(found).length === 0
    },
    async (submission) => {
      const body = { url: url.trim(), events: events as KnownEventType[] }
      onSaved(
        webhook
          ? await update(webhook, changedFields(body, initial))
          : await store.webhooks.create(body, { submission }),
      )
    },
  )
  const { error } = form
  return (
    <FormDialog
      form={form}
      title={webhook ? `Edit webhook ${webhook.id}` : 'Register a webhook'}
      action={webhook ? 'Save' : 'Register'}
      onClose={onClose}
    >
      <FormError error={error} fields={['/url', '/events']} />
      <TextField
        label="Address"
        type="url"
        placeholder="https://shelter.example/hooks/petstore"
        hint="An https address on the public internet. It receives each event as a POST request."
        value={url}
        onValue={(text) => {
          setMissing({ ...missing, url: undefined })
          setUrl(text)
        }}
        error={missing.url ?? error?.detail('/url')}
      />
      <CheckGroup
        label="Events"
        options={typeOptions()}
        values={events}
        onValues={(types) => {
          setMissing({ ...missing, events: undefined })
          setEvents(types)
        }}
        error={missing.events ?? error?.detail('/events')}
      />
      <button
        type="button"
        class="link webhook-all"
        onClick={() => setEvents(typeOptions().map(({ value }) => value))}
      >
        Choose all events
      </button>
    </FormDialog>
  )
}
