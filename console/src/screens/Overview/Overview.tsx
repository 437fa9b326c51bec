import { useState } from 'preact/hooks'
import type { Scope } from '../../../../client/src/index.ts'
import { hasScope } from '../../app/session.ts'
import { LiveIndicator } from '../../components/LiveIndicator.tsx'
import { PageHeader } from '../../components/PageHeader.tsx'
import { EventsCard } from './EventsCard.tsx'
import { InventoryCard } from './InventoryCard.tsx'
import './overview.css'
import { RequestsCard } from './RequestsCard.tsx'

const parts: readonly [name: string, scope: Scope][] = [
  ['the inventory', 'pets:read'],
  ['requests over time', 'keys:manage'],
  ['the latest events', 'events:read'],
]

/** Says what is not shown, and why. */
function MissingScopes() {
  const missing = parts.filter(([, scope]) => !hasScope(scope))
  if (missing.length === 0) return null
  return (
    <p class="overview-missing">
      Not shown with this key:{' '}
      {missing.map(([name, scope], index) => (
        <>
          {index > 0 && ', '}
          {name} (needs the scope <code>{scope}</code>)
        </>
      ))}
      .
    </p>
  )
}

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
          {hasScope('pets:read') && <InventoryCard />}
          {hasScope('keys:manage') && <RequestsCard />}
          <MissingScopes />
        </div>
        {hasEvents && <EventsCard />}
      </div>
    </>
  )
}
