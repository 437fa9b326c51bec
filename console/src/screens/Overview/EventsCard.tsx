import { useEffect, useMemo } from 'preact/hooks'
import type { Event as StoreEvent } from '../../../../client/src/index.ts'
import { reconnectNow } from '../../app/stream.ts'
import { Card } from '../../components/Card.tsx'
import { EmptyState } from '../../components/EmptyState.tsx'
import { Entry } from '../../components/Entry.tsx'
import { ErrorState } from '../../components/ErrorState.tsx'
import { LoadingRows } from '../../components/Loading.tsx'
import { Name, withNames } from '../../components/Name.tsx'
import { TimeAgo } from '../../components/TimeAgo.tsx'
import { describeEvent, LatestEvents } from './events.ts'

export function EventsCard() {
  const latest = useMemo(() => new LatestEvents(), [])
  useEffect(() => latest.follow(), [latest])
  const events = latest.events.value
  const error = latest.error.value
  const retry = () => {
    reconnectNow()
    void latest.load()
  }
  return (
    <Card title="Latest events" class="overview-events">
      {events === undefined && error && <ErrorState error={error} onRetry={retry} />}
      {events === undefined && !error && <LoadingRows count={6} label="Loading events" />}
      {events?.length === 0 && (
        <EmptyState
          icon="audit"
          title="Nothing has happened yet"
          text="Changes appear here as they happen."
        />
      )}
      {events && events.length > 0 && (
        <ol class="entries">
          {events.map((event) => (
            <EventRow key={event.id} event={event} />
          ))}
        </ol>
      )}
    </Card>
  )
}

function EventRow({ event }: { event: StoreEvent }) {
  const { icon, name, animal, text } = describeEvent(event)
  return (
    <Entry icon={icon} class="event">
      <strong>
        <Name>{name}</Name>
      </strong>{' '}
      {animal !== undefined && withNames`for ${animal} `}
      {text}
      <span class="entry-detail">
        <TimeAgo at={event.createdAt} />
      </span>
    </Entry>
  )
}
