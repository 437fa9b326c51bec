import type { HistoryEntry } from '../../../../../client/src/index.ts'
import { formatDateTime } from '../../../app/format.ts'
import { store } from '../../../app/store.ts'
import { Card } from '../../../components/Card.tsx'
import { Entry } from '../../../components/Entry.tsx'
import { Name } from '../../../components/Name.tsx'
import { PagedRows } from '../../../components/PagedRows.tsx'
import { TimeAgo } from '../../../components/TimeAgo.tsx'
import type { SideCardProps } from './events.ts'
import { linesOf } from './history.ts'
import { useSideList } from './useSideList.ts'

const pageSize = 30

/** What happened to the animal, and who did it. */
export function HistoryCard(props: SideCardProps) {
  const { petId } = props
  const list = useSideList<HistoryEntry>(props, {
    pageSize,
    list: (page, options) => store.pets.history.list(petId, page, options),
  })
  return (
    <Card title="History" anchor="history" text="Changes of the last 30 days.">
      <PagedRows list={list} name="history" empty={<p class="muted">Nothing has changed lately.</p>}>
        {(entries) => (
          <ol class="entries">
            {linesOf(entries).map(({ entry, actor, text, icon }) => (
              <Entry key={entry.id} icon={icon} class="animal-entry">
                <strong>
                  <Name>{actor}</Name>
                </strong>{' '}
                <Name>{text}</Name>
                <span class="entry-detail" title={formatDateTime(entry.createdAt)}>
                  <TimeAgo at={entry.createdAt} />
                </span>
              </Entry>
            ))}
          </ol>
        )}
      </PagedRows>
    </Card>
  )
}
