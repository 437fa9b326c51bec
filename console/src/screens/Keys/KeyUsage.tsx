import type { Int64 } from '../../../../client/src/index.ts'
import { now } from '../../app/clock.ts'
import { formatCount } from '../../app/format.ts'
import { usePolling, useResource } from '../../app/resource.ts'
import { store } from '../../app/store.ts'
import { countsOf, usageBars, usageRanges } from '../../app/usage.ts'
import { Card } from '../../components/Card.tsx'
import { ResourceView } from '../../components/ResourceView.tsx'
import { UsageChart } from '../../components/UsageChart.tsx'
import { WindowMeters } from '../../components/WindowMeter.tsx'

const pollMs = 10_000

/** What a key may still do, and what it has done. */
export function KeyUsage({ keyId, isRevoked }: { keyId: Int64; isRevoked: boolean }) {
  const usage = useResource((signal) => store.keys.usage(keyId, { signal }), [keyId])
  usePolling(usage, pollMs)
  return (
    <>
      {!isRevoked && <WindowsCard keyId={keyId} />}
      <Card title="Last 24 hours" text="Requests per 15 minutes" class="cards-full">
        <ResourceView resource={usage} name="usage">
          {(data) => (
            <UsageChart bars={usageBars(data, usageRanges.day, now())} rangeName="day" heightPx={150} />
          )}
        </ResourceView>
      </Card>
      <Card
        title="Rejected requests"
        text="Requests that the service rejected because of this key, in the last 24 hours, by error code"
      >
        <ResourceView resource={usage} name="usage">
          {({ minutes }) => (
            <CountList counts={countsOf(minutes, 'rejected')} none="No request was rejected." />
          )}
        </ResourceView>
      </Card>
      <Card title="Deprecated operations" text="Uses in the last 30 days">
        <ResourceView resource={usage} name="usage">
          {({ hours }) => (
            <CountList counts={countsOf(hours, 'deprecated')} none="This key uses no deprecated operation." />
          )}
        </ResourceView>
      </Card>
    </>
  )
}

function WindowsCard({ keyId }: { keyId: Int64 }) {
  const limits = useResource((signal) => store.keys.limits(keyId, { signal }), [keyId])
  usePolling(limits, pollMs)
  return (
    <Card title="Now" class="cards-full">
      <ResourceView resource={limits} name="limits">
        {(data) => <WindowMeters limits={data} onReset={limits.reload} />}
      </ResourceView>
    </Card>
  )
}

/** What the error codes of rejected requests mean. */
const reasons: Readonly<Record<string, string>> = {
  rate_limit_exceeded: 'over its limit per minute or day',
  key_banned: 'while the key was banned',
  insufficient_scope: 'without the scope that the operation needs',
  origin_not_allowed: 'from a web page of another origin',
}

const CountList = ({ counts, none }: { counts: readonly [string, number][]; none: string }) =>
  counts.length === 0 ? (
    <p class="muted">{none}</p>
  ) : (
    <ul class="counts">
      {counts.map(([name, count]) => (
        <li key={name}>
          <span>
            <code>{name}</code>
            {reasons[name] !== undefined && <span class="counts-reason">{reasons[name]}</span>}
          </span>
          <strong>{formatCount(count)}</strong>
        </li>
      ))}
    </ul>
  )
