import { useState } from 'preact/hooks'
import { hasScope } from '../../app/session.ts'
import { LiveIndicator } from '../../components/LiveIndicator.tsx'
import { PageHeader } from '../../components/PageHeader.tsx'
import { EventsCard } from './EventsCard.tsx'
import { InventoryCard } from './InventoryCard.tsx'
import './overview.css'
import { RequestsCard } from './RequestsCard.tsx'

/** The state of the store at a glance, as far as the scopes of the key allow. */
export default function Overview() {
  const [version, setVersion] = useState(0)
  const hasEvents = hasScope('events:read')
  return (
    <>
      <PageHeader
        title="Overview"
        actions={<LiveIndicator onRefresh={() => setVersion((before) => before + 1)} />}
      />
      <div key={version} class={`overview ${hasEvents ? 'overview-with-events' : ''}`}>
        <div class="overview-main">
          <InventoryCard />
          {hasScope('keys:manage') && <RequestsCard />}
        </div>
        {hasEvents && <EventsCard />}
      </div>
    </>
  )
}
