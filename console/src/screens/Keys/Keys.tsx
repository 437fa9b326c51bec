import { useMemo, useState } from 'preact/hooks'
import type { Key, KeyWithSecret } from '../../../../client/src/index.ts'
import { hrefOf, screenArgument } from '../../app/router.ts'
import { useList } from '../../app/useList.ts'
import { Button } from '../../components/Button.tsx'
import { EmptyState } from '../../components/EmptyState.tsx'
import { LiveIndicator } from '../../components/LiveIndicator.tsx'
import { withNames } from '../../components/Name.tsx'
import { PagedTable } from '../../components/PagedTable.tsx'
import { PageHeader } from '../../components/PageHeader.tsx'
import { StatusChip } from '../../components/StatusChip.tsx'
import { TimeAgo } from '../../components/TimeAgo.tsx'
import type { Column } from '../../components/VirtualTable.tsx'
import { KeyDetail } from './KeyDetail.tsx'
import { KeyDialog } from './KeyDialog.tsx'
import { KeySecretDialog } from './KeySecretDialog.tsx'
import { createKeyList, describeScopes, followKeys, isOwnKey, keyStatus } from './keyList.ts'
import './keys.css'

export default function Keys() {
  const argument = screenArgument.value
  return argument === undefined ? <AllKeys /> : <KeyDetail key={argument} keyId={argument} />
}

function AllKeys() {
  const list = useMemo(createKeyList, [])
  const [isCreating, setCreating] = useState(false)
  const [created, setCreated] = useState<KeyWithSecret>()
  useList(list, followKeys)
  return (
    <>
      <PageHeader
        title="Keys"
        actions={
          <>
            <LiveIndicator onRefresh={() => void list.reload()} />
            <Button kind="primary" icon="plus" onClick={() => setCreating(true)}>
              Create key
            </Button>
          </>
        }
      />
      <PagedTable
        list={list}
        noun="key"
        columns={columns}
        empty={<EmptyState icon="key" title="No keys" text="Create the first one." />}
      />
      {isCreating && (
        <KeyDialog
          onClose={() => setCreating(false)}
          onSaved={(key) => {
            const { key: _secret, ...rest } = key as KeyWithSecret
            list.upsert(rest)
            setCreating(false)
            setCreated(key as KeyWithSecret)
          }}
        />
      )}
      {created && (
        <KeySecretDialog
          title={withNames`Key “${created.name}” created`}
          apiKey={created}
          onClose={() => setCreated(undefined)}
        />
      )}
    </>
  )
}

const LastUsed = ({ at }: { at: string | null }) =>
  at === null ? <span class="muted">Never</span> : <TimeAgo at={at} />

const columns: Column<Key>[] = [
  {
    name: 'Name',
    render: (key) => (
      <>
        <a class="cell-link" href={hrefOf(`keys/${key.id}`)} title={key.name}>
          {key.name}
        </a>
        <span class="cell-detail-always">
          Key {String(key.id)}
          {isOwnKey(key) && ' · this session'}
          {key.origins.length > 0 && ' · publishable'}
        </span>
      </>
    ),
  },
  { name: 'Plan', width: '7.5rem', isHiddenOnPhone: true, render: ({ plan }) => plan },
  {
    name: 'Scopes',
    width: '26%',
    isHiddenOnTablet: true,
    render: (key) => <span title={key.scopes.join(', ')}>{describeScopes(key.scopes)}</span>,
  },
  {
    name: 'Last used',
    width: '10rem',
    isHiddenOnPhone: true,
    render: ({ lastUsedAt }) => <LastUsed at={lastUsedAt} />,
  },
  { name: 'Status', width: 'var(--status-width)', render: (key) => <StatusChip status={keyStatus(key)} /> },
]
