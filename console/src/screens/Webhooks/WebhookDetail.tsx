import { useMemo, useState } from 'preact/hooks'
import type { Delivery, Int64, Webhook, WebhookWithSecret } from '../../../../client/src/index.ts'
import { formatDateTime } from '../../app/format.ts'
import { idInAddress } from '../../app/ids.ts'
import { PagedList } from '../../app/pagedList.ts'
import { usePolling, useResource } from '../../app/resource.ts'
import { navigate } from '../../app/router.ts'
import { store } from '../../app/store.ts'
import { showToast } from '../../app/toasts.ts'
import { useAction } from '../../app/useAction.ts'
import { Button } from '../../components/Button.tsx'
import { Card } from '../../components/Card.tsx'
import { ConfirmDialog } from '../../components/ConfirmDialog.tsx'
import { DetailHeader } from '../../components/DetailHeader.tsx'
import { Facts } from '../../components/Facts.tsx'
import { Menu } from '../../components/Menu.tsx'
import { Notice } from '../../components/Notice.tsx'
import { PendingDetail } from '../../components/PendingDetail.tsx'
import { Tags } from '../../components/Tags.tsx'
import { Deliveries, type DeliveryList, deliveriesPerPage } from './Deliveries.tsx'
import { WebhookDialog } from './WebhookDialog.tsx'
import { WebhookSecretDialog } from './WebhookSecretDialog.tsx'

const parent = { path: 'webhooks', name: 'Webhooks' }
/** The service disables a webhook by itself, and others pause it. */
const pollMs = 10_000

export function WebhookDetail({ webhookId }: { webhookId: string }) {
  const id = idInAddress(webhookId)
  const webhook = useResource((signal) => store.webhooks.get(id, { signal }), [webhookId])
  usePolling(webhook, webhook.data && pollMs)
  const { data, error, reload, set } = webhook
  if (!data)
    return <PendingDetail kind="Webhook" id={webhookId} parent={parent} error={error} onRetry={reload} />
  return <LoadedWebhook webhook={data} onChange={set} onReload={reload} />
}

const createDeliveryList = (webhookId: Int64): DeliveryList =>
  new PagedList<Delivery>({
    pageSize: deliveriesPerPage,
    list: (page, options) => store.webhooks.deliveries(webhookId, page, options),
  })

type LoadedWebhookProps = { webhook: Webhook; onChange(webhook: Webhook): void; onReload(): void }

function LoadedWebhook({ webhook, onChange, onReload }: LoadedWebhookProps) {
  const [dialog, setDialog] = useState<'edit' | 'rotate' | 'delete'>()
  const [rotated, setRotated] = useState<WebhookWithSecret>()
  const list = useMemo(() => createDeliveryList(webhook.id), [webhook.id])
  const close = () => setDialog(undefined)
  return (
    <>
      <DetailHeader
        title={hostOf(webhook.url)}
        parent={parent}
        status={webhook.status}
        text={`Webhook ${webhook.id}`}
        actions={<Actions webhook={webhook} list={list} onChange={onChange} onDialog={setDialog} />}
      />
      <div class="cards">
        {webhook.status === 'disabled' && (
          <Notice tone="danger">
            The service disabled this webhook. {webhook.statusReason} Events in the meantime are not sent
            later.
          </Notice>
        )}
        {webhook.status === 'paused' && (
          <Notice tone="warning">Paused. Messages are queued and sent when you resume it.</Notice>
        )}
        <Settings webhook={webhook} />
        <Deliveries webhook={webhook} list={list} onSettled={onReload} />
      </div>
      {dialog === 'edit' && (
        <WebhookDialog
          webhook={webhook}
          onClose={close}
          onSaved={(saved) => {
            onChange(saved)
            close()
            showToast('Webhook saved.')
          }}
        />
      )}
      {dialog === 'rotate' && <RotateDialog webhook={webhook} onClose={close} onRotated={setRotated} />}
      {dialog === 'delete' && <DeleteDialog webhook={webhook} onClose={close} />}
      {rotated && <WebhookSecretDialog webhook={rotated} isRotated onClose={() => setRotated(undefined)} />}
    </>
  )
}

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : url)

type ActionsProps = {
  webhook: Webhook
  list: DeliveryList
  onChange(webhook: Webhook): void
  onDialog(dialog: 'edit' | 'rotate' | 'delete'): void
}

function Actions({ webhook, list, onChange, onDialog }: ActionsProps) {
  const testing = useAction()
  const changing = useAction()
  const test = () =>
    testing.run(async () => {
      list.upsert(await store.webhooks.test(webhook.id))
      showToast('A test message is queued. Its delivery is listed below.')
    })
  const isEnabled = webhook.status === 'enabled'
  const change = () =>
    changing.run(async () => {
      const status = isEnabled ? 'paused' : 'enabled'
      onChange(await store.webhooks.update(webhook.id, { status }))
    })
  return (
    <>
      {webhook.status !== 'disabled' && (
        <Button isBusy={testing.isBusy} onClick={() => void test()}>
          Send test
        </Button>
      )}
      <Button
        isBusy={changing.isBusy}
        kind={isEnabled ? 'secondary' : 'primary'}
        onClick={() => void change()}
      >
        {isEnabled ? 'Pause' : webhook.status === 'paused' ? 'Resume' : 'Enable'}
      </Button>
      <Menu
        label="More actions"
        items={[
          { label: 'Edit', onSelect: () => onDialog('edit') },
          { label: 'Rotate signing secret', onSelect: () => onDialog('rotate') },
          { label: 'Delete', isDanger: true, onSelect: () => onDialog('delete') },
        ]}
      />
    </>
  )
}

const Settings = ({ webhook }: { webhook: Webhook }) => (
  <Card title="Settings">
    <Facts
      facts={[
        ['Address', webhook.url],
        ['Events', <Tags key="events" texts={webhook.events} />],
        ['Registered', formatDateTime(webhook.createdAt)],
      ]}
    />
  </Card>
)

type DialogProps = { webhook: Webhook; onClose(): void }

const RotateDialog = ({
  webhook,
  onClose,
  onRotated,
}: DialogProps & { onRotated(webhook: WebhookWithSecret): void }) => (
  <ConfirmDialog
    title="Rotate the signing secret"
    text="For one day messages are signed with the new and the previous secret, so that you can replace it in your endpoint."
    action="Rotate secret"
    run={async (submission) => {
      onRotated(await store.webhooks.rotateSecret(webhook.id, {}, { submission }))
      onClose()
    }}
    onClose={onClose}
  />
)

const DeleteDialog = ({ webhook, onClose }: DialogProps) => (
  <ConfirmDialog
    title={`Delete webhook ${webhook.id}?`}
    text={`${webhook.url} receives no more messages. Its deliveries are deleted too. This cannot be undone.`}
    action="Delete webhook"
    isDanger
    run={async () => {
      await store.webhooks.delete(webhook.id)
      showToast('Webhook deleted.')
      navigate('webhooks')
    }}
    onClose={onClose}
  />
)
