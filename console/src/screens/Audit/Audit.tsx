import { useMemo } from 'preact/hooks'
import type { AuditEntry } from '../../../../client/src/index.ts'
import { formatDateTime } from '../../app/format.ts'
import { PagedList } from '../../app/pagedList.ts'
import { hrefOf } from '../../app/router.ts'
import { store } from '../../app/store.ts'
import { collectEvents } from '../../app/stream.ts'
import { useList } from '../../app/useList.ts'
import { IconButton } from '../../components/Button.tsx'
import { EmptyState } from '../../components/EmptyState.tsx'
import { Entry } from '../../components/Entry.tsx'
import type { IconName } from '../../components/Icon.tsx'
import { Name } from '../../components/Name.tsx'
import { PagedRows } from '../../components/PagedRows.tsx'
import { PageHeader } from '../../components/PageHeader.tsx'
import { TimeAgo } from '../../components/TimeAgo.tsx'
import './audit.css'
import { sentenceOf } from './entries.ts'

const pageSize = 50
const collectMs = 500

export default function Audit() {
  const list = useMemo(
    () =>
      new PagedList<AuditEntry>({
        pageSize,
        list: (page, options) => store.audit.list(page, options),
      }),
    [],
  )
  useList(list, () =>
    // A change of a key has an entry. The other entries have no event.
    collectEvents(
      ({ type }) => type.startsWith('key.'),
      () => void list.refresh(),
      collectMs,
    ),
  )
  return (
    <>
      <PageHeader
        title="Audit log"
        text="Who changed keys, webhooks and personal data. Entries cannot be changed."
        actions={<IconButton label="Refresh" icon="refresh" onClick={() => void list.reload()} />}
      />
      <PagedRows
        list={list}
        name="entries"
        empty={
          <EmptyState
            icon="audit"
            title="No entries yet"
            text="Changes of keys and webhooks appear here, with who made them and when."
          />
        }
      >
        {(entries) => <Entries entries={entries} />}
      </PagedRows>
    </>
  )
}

const dayOf = ({ at }: AuditEntry) =>
  new Date(at).toLocaleDateString('en', { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' })

function Entries({ entries }: { entries: readonly AuditEntry[] }) {
  const days = Map.groupBy(entries, dayOf)
  return (
    <div class="audit">
      {[...days].map(([day, ofDay]) => (
        <section key={day} class="audit-day">
          <h2>{day}</h2>
          <ol class="entries audit-entries">
            {ofDay.map((entry) => (
              <AuditRow key={entry.id} entry={entry} />
            ))}
          </ol>
        </section>
      ))}
    </div>
  )
}

const icons: Record<string, IconName> = { key: 'key', webhook: 'webhook', order: 'orders' }

function AuditRow({ entry }: { entry: AuditEntry }) {
  const { subject, href, verb, actor } = sentenceOf(entry)
  return (
    <Entry icon={icons[entry.action.split('.')[0] ?? ''] ?? 'audit'} class="audit-entry">
      {href === undefined ? (
        <strong>
          <Name>{subject}</Name>
        </strong>
      ) : (
        <a href={hrefOf(href)}>
          <Name>{subject}</Name>
        </a>
      )}{' '}
      {verb} by <Name>{actor}</Name>, <TimeAgo at={entry.at} />
      <span class="entry-detail">
        {formatDateTime(entry.at)}
        {entry.requestId !== undefined && (
          <>
            {' '}
            · Request <code>{entry.requestId}</code>
          </>
        )}
      </span>
    </Entry>
  )
}
