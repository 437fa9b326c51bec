import { useMemo, useState } from 'preact/hooks'
import type { Webhook, WebhookWithSecret } from '../../../../client/src/index.ts'
import { summarizeList } from '../../app/format.ts'
import { PagedList } from '../../app/pagedList.ts'
import { hrefOf, screenArgument } from '../../app/router.ts'
import { store } from '../../app/store.ts'
import { useList } from '../../app/useList.ts'
import { Button, IconButton } from '../../components/Button.tsx'
import { EmptyState } from '../../components/EmptyState.tsx'
import { PagedTable } from '../../components/PagedTable.tsx'
import { PageHeader } from '../../components/PageHeader.tsx'
import { StatusChip } from '../../components/StatusChip.tsx'
import { TimeAgo } from '../../components/TimeAgo.tsx'
import type { Column } from '../../components/VirtualTable.tsx'
import { WebhookDetail } from './WebhookDetail.tsx'
import { WebhookDialog } from './WebhookDialog.tsx'
import { WebhookSecretDialog } from './WebhookSecretDialog.tsx'
import './webhooks.css'

export default function Webhooks() {
  const argument = screenArgument.value
  return argument === undefined ? <AllWebhooks /> : <WebhookDetail key={argument} webhookId={argument} />
}

const pageSize = 50

function AllWebhooks() {
  const list = useMemo(
    () =>
      new PagedList<Webhook>({
        pageSize,
        list: (page, options) => store.webhooks.list(page, options),
      }),
    [],
  )
  const [isRegistering, setRegistering] = useState(false)
  const [registered, setRegistered] = useState<WebhookWithSecret>()
  useList(list)
  const register = (
    <Button kind="primary" icon="plus" onClick={() => setRegistering(true)}>
      Register webhook
    </Button>
  )
  return (
    <>
      <PageHeader
        title="Webhooks"
        text="Endpoints that receive events as they happen."
        actions={
          <>
            {register}
            <IconButton label="Refresh" icon="refresh" onClick={() => void list.reload()} />
          </>
        }
      />
      <PagedTable
        list={list}
        noun="webhook"
        columns={columns}
        empty={
          <EmptyState
            icon="webhook"
            title="No webhooks yet"
            text="Register an endpoint, and the service sends it the events you choose, signed and with retries."
            action={register}
          />
        }
      />
      {isRegistering && (
        <WebhookDialog
          onClose={() => setRegistering(false)}
          onSaved={(saved) => {
            const { secret: _secret, ...webhook } = saved as WebhookWithSecret
            list.upsert(webhook)
            setRegistering(false)
            setRegistered(saved as WebhookWithSecret)
          }}
        />
      )}
      {registered && <WebhookSecretDialog webhook={registered} onClose={() => setRegistered(undefined)} />}
    </>
  )
}

const columns: Column<Webhook>[] = [
  {
    name: 'Address',
    render: ({ id, url }) => (
      <>
        <a class="cell-link" href={hrefOf(`webhooks/${id}`)} title={url}>
          {url}
        </a>
        <span class="cell-detail-always">Webhook {String(id)}</span>
      </>
    ),
  },
  {
    name: 'Events',
    width: '28%',
    isHiddenOnPhone: true,
    render: ({ events }) => <span title={events.join(', ')}>{summarizeList(events)}</span>,
  },
  {
    name: 'Registered',
    width: '10rem',
    isHiddenOnTablet: true,
    render: ({ createdAt }) => <TimeAgo at={createdAt} />,
  },
  { name: 'Status', width: 'var(--status-width)', render: ({ status }) => <StatusChip status={status} /> },
]
