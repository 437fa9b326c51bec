import { useState } from 'preact/hooks'
import { eventTypes, isPrivateEvent } from '../../../../src/events/event.ts'
import { call } from '../../api/client.ts'
import { type RequestError, toRequestError } from '../../api/errors.ts'
import type { KnownEventType, Webhook, WebhookWithSecret } from '../../api/types.ts'
import { hasScope } from '../../app/session.ts'
import { Button } from '../../components/Button.tsx'
import { CheckGroup } from '../../components/CheckGroup.tsx'
import { Dialog } from '../../components/Dialog.tsx'
import { ErrorNotice } from '../../components/ErrorNotice.tsx'
import { TextField } from '../../components/Field.tsx'

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

export function WebhookDialog({ webhook, onSaved, onClose }: WebhookDialogProps) {
  const [url, setUrl] = useState(webhook?.url ?? '')
  const [events, setEvents] = useState<readonly string[]>(webhook?.events ?? [])
  const [missing, setMissing] = useState<{ url?: string | undefined; events?: string | undefined }>({})
  const [error, setError] = useState<RequestError>()
  const [isBusy, setBusy] = useState(false)

  async function submit() {
    if (isBusy) return
    const found = {
      ...(url.trim() === '' && { url: 'Enter the address of the endpoint.' }),
      ...(events.length === 0 && { events: 'Choose at least one event.' }),
    }
    setMissing(found)
    if (Object.keys(found).length > 0) return
    setBusy(true)
    setError(undefined)
    const body = { url: url.trim(), events: events as KnownEventType[] }
    try {
      const saved = webhook
        ? await call('updateWebhook', { params: { webhookId: webhook.id }, body })
        : await call('createWebhook', { body })
      onSaved(saved)
    } catch (thrown) {
      setError(toRequestError(thrown))
      setBusy(false)
    }
  }
  const eventsError = error?.details.find(({ path }) => path.startsWith('/events'))
  const isExplained = error?.details.some(({ path }) => path !== '') ?? false
  return (
    <Dialog
      title={webhook ? `Edit webhook ${webhook.id}` : 'Register a webhook'}
      onClose={onClose}
      onSubmit={() => void submit()}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" isBusy={isBusy}>
            {webhook ? 'Save' : 'Register'}
          </Button>
        </>
      }
    >
      {error && !isExplained && <ErrorNotice error={error}>{error.detail('')}</ErrorNotice>}
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
        error={missing.events ?? (eventsError && error?.detail(eventsError.path))}
      />
      <button
        type="button"
        class="link webhook-all"
        onClick={() => setEvents(typeOptions().map(({ value }) => value))}
      >
        Choose all events
      </button>
    </Dialog>
  )
}
