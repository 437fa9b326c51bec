import type { Key, Limits as KeyLimits } from '../../../../client/src/index.ts'
import { effectiveLimits } from '../../../../src/limits/plans.ts'
import { formatCount, formatDateTime, pluralize } from '../../app/format.ts'
import { usePolling, useResource } from '../../app/resource.ts'
import { hasScope, refreshSession, session } from '../../app/session.ts'
import { store } from '../../app/store.ts'
import { streamState } from '../../app/stream.ts'
import { Card } from '../../components/Card.tsx'
import { Countdown } from '../../components/Countdown.tsx'
import { Facts } from '../../components/Facts.tsx'
import { withNames } from '../../components/Name.tsx'
import { Notice } from '../../components/Notice.tsx'
import { PageHeader } from '../../components/PageHeader.tsx'
import { ResourceView } from '../../components/ResourceView.tsx'
import { StatusChip } from '../../components/StatusChip.tsx'
import { Tags } from '../../components/Tags.tsx'
import { WindowMeters } from '../../components/WindowMeter.tsx'
import './limits.css'

/** The first 60 requests a minute to this operation do not count. */
const pollMs = 5_000

/** Only an operator can read when the key expires and how many streams it may open. */
async function loadOwnKey(signal: AbortSignal): Promise<Key | undefined> {
  const keyId = session.value?.keyId
  if (keyId === undefined || !hasScope('keys:manage')) return undefined
  return store.keys.get(keyId, { signal })
}

export default function Limits() {
  const { data: ownKey } = useResource(loadOwnKey)
  const limits = useResource(refreshSession)
  usePolling(limits, pollMs)
  const { error } = limits
  return (
    <>
      <PageHeader
        title="Limits"
        text={
          <>
            What this key may still do. <a href="/guides/limits">How limits work</a>
          </>
        }
      />
      <ResourceView resource={limits} name="limits" rows={4}>
        {(data) => (
          <div class="cards">
            {error && <StaleNotice isOffline={error.isOffline} />}
            <Windows limits={data} onReset={limits.reload} />
            <Streams limits={data} ownKey={ownKey} />
            <ThisKey limits={data} ownKey={ownKey} />
          </div>
        )}
      </ResourceView>
    </>
  )
}

const StaleNotice = ({ isOffline }: { isOffline: boolean }) => (
  <Notice tone="warning">
    {isOffline
      ? 'The service cannot be reached. These figures may be out of date.'
      : 'These figures could not be updated. Trying again.'}
  </Notice>
)

const Windows = ({ limits, onReset }: { limits: KeyLimits; onReset(): void }) => (
  <Card
    title="Requests"
    text="Every request counts in both windows. When one is used up, requests are rejected until it resets."
    actions={<StatusChip status={limits.bannedUntil === null ? 'active' : 'banned'} />}
  >
    {limits.bannedUntil !== null && (
      <div class="limits-ban">
        <Notice tone="danger">
          This key is banned for repeatedly exceeding its limit. The ban ends in{' '}
          <Countdown until={Date.parse(limits.bannedUntil)} onEnd={onReset} />. An operator can lift it.
        </Notice>
      </div>
    )}
    <WindowMeters limits={limits} onReset={onReset} />
  </Card>
)

const streamTexts = {
  live: 'This tab has one open.',
  connecting: 'This tab is opening one.',
  reconnecting: 'This tab is reconnecting.',
  limited: 'This tab has none: all streams of the key are open.',
  rejected: 'The service rejected the stream of this tab.',
  off: 'This tab has none: the key lacks the scope events:read.',
}

function Streams({ limits, ownKey }: { limits: KeyLimits; ownKey: Key | undefined }) {
  const { streams } = effectiveLimits(limits.plan, ownKey?.limits ?? {})
  const isKnown = ownKey !== undefined || limits.plan !== 'enterprise'
  return (
    <Card title="Event streams" text="Each open tab of the console with live updates uses one.">
      <p>
        {isKnown ? (
          <>
            Up to <strong>{pluralize(streams, 'stream')}</strong> at a time on each instance of the service.
          </>
        ) : (
          `As many as an operator has set for this key. An enterprise key without such a setting has ${formatCount(streams)} on each instance of the service.`
        )}{' '}
        <span class="muted">{streamTexts[streamState.value]}</span>
      </p>
    </Card>
  )
}

const ThisKey = ({ limits, ownKey }: { limits: KeyLimits; ownKey: Key | undefined }) => (
  <Card title="This key">
    <Facts
      facts={[
        ['Name', [withNames`${limits.name} `, <span key="id" class="muted">{`(key ${limits.keyId})`}</span>]],
        ['Plan', limits.plan],
        ['Environment', limits.environment],
        ['Expires', ownKey?.expiresAt && formatDateTime(ownKey.expiresAt)],
        ['Scopes', <Tags key="scopes" texts={limits.scopes} />],
      ]}
    />
  </Card>
)
