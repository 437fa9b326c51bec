import { useEffect, useState } from 'preact/hooks'
import type { Key, KeyWithSecret } from '../../../../client/src/index.ts'
import { effectiveLimits } from '../../../../src/limits/plans.ts'
import { formatCount, formatDateTime } from '../../app/format.ts'
import { idInAddress } from '../../app/ids.ts'
import { useResource } from '../../app/resource.ts'
import { refreshSession } from '../../app/session.ts'
import { store } from '../../app/store.ts'
import { followEvents } from '../../app/stream.ts'
import { showToast } from '../../app/toasts.ts'
import { useAction } from '../../app/useAction.ts'
import { Button } from '../../components/Button.tsx'
import { Card } from '../../components/Card.tsx'
import { Countdown } from '../../components/Countdown.tsx'
import { DetailHeader } from '../../components/DetailHeader.tsx'
import { Facts } from '../../components/Facts.tsx'
import { withNames } from '../../components/Name.tsx'
import { Notice } from '../../components/Notice.tsx'
import { PendingDetail } from '../../components/PendingDetail.tsx'
import { Tags } from '../../components/Tags.tsx'
import { TimeAgo } from '../../components/TimeAgo.tsx'
import { KeyDialog } from './KeyDialog.tsx'
import { KeySecretDialog } from './KeySecretDialog.tsx'
import { KeyUsage } from './KeyUsage.tsx'
import { RevokeDialog, RotateDialog } from './keyActions.tsx'
import { isOwnKey, keyStatus } from './keyList.ts'

const parent = { path: 'keys', name: 'Keys' }
type OpenDialog = 'edit' | 'rotate' | 'revoke'

export function KeyDetail({ keyId }: { keyId: string }) {
  const id = idInAddress(keyId)
  const { data, error, reload, set } = useResource((signal) => store.keys.get(id, { signal }), [keyId])
  useEffect(
    () =>
      followEvents((event) => {
        if (event.type.startsWith('key.') && event.data.id === id) reload()
      }),
    [keyId],
  )
  if (!data) return <PendingDetail kind="Key" id={keyId} parent={parent} error={error} onRetry={reload} />
  return <LoadedKey apiKey={data} onChange={set} onReload={reload} />
}

type LoadedKeyProps = { apiKey: Key; onChange(key: Key): void; onReload(): void }

function LoadedKey({ apiKey, onChange, onReload }: LoadedKeyProps) {
  const [dialog, setDialog] = useState<OpenDialog>()
  const [rotated, setRotated] = useState<KeyWithSecret>()
  const close = () => setDialog(undefined)
  const isRevoked = apiKey.revokedAt !== undefined
  return (
    <>
      <DetailHeader
        title={apiKey.name}
        parent={parent}
        status={keyStatus(apiKey)}
        text={`Key ${apiKey.id}${isOwnKey(apiKey) ? ' · You are signed in with it' : ''}`}
        actions={
          !isRevoked && (
            <>
              <Button onClick={() => setDialog('edit')}>Edit</Button>
              <Button icon="refresh" onClick={() => setDialog('rotate')}>
                Rotate
              </Button>
              <Button kind="danger" onClick={() => setDialog('revoke')}>
                Revoke
              </Button>
            </>
          )
        }
      />
      <div class="cards cards-halves">
        {keyStatus(apiKey) === 'banned' && <Ban apiKey={apiKey} onLifted={onReload} />}
        <KeyUsage keyId={apiKey.id} isRevoked={isRevoked} />
        <Settings apiKey={apiKey} />
      </div>
      {dialog === 'edit' && (
        <KeyDialog
          apiKey={apiKey}
          onClose={close}
          onSaved={(saved) => {
            onChange(saved)
            close()
            showToast('Key saved.')
            if (isOwnKey(saved)) void refreshSession().catch(() => {})
          }}
        />
      )}
      {dialog === 'rotate' && (
        <RotateDialog
          apiKey={apiKey}
          onClose={close}
          onRotated={(key) => {
            close()
            setRotated(key)
          }}
        />
      )}
      {dialog === 'revoke' && (
        <RevokeDialog
          apiKey={apiKey}
          onClose={close}
          onRevoked={() => {
            close()
            onReload()
          }}
        />
      )}
      {rotated && (
        <KeySecretDialog
          title={withNames`New secret of “${rotated.name}”`}
          apiKey={rotated}
          onClose={() => setRotated(undefined)}
        />
      )}
    </>
  )
}

function Ban({ apiKey, onLifted }: { apiKey: Key; onLifted(): void }) {
  const { isBusy, run } = useAction()
  const lift = () =>
    run(async () => {
      await store.keys.liftBan(apiKey.id)
      showToast('Ban lifted.')
    }).then(onLifted)
  return (
    <div class="cards-full">
      <Notice tone="danger">
        <div class="key-ban">
          <span>
            Banned for repeatedly exceeding its rate limit. The ban ends in{' '}
            <Countdown until={Date.parse(apiKey.bannedUntil ?? '')} onEnd={onLifted} />.
          </span>
          <Button size="small" isBusy={isBusy} onClick={() => void lift()}>
            Lift the ban
          </Button>
        </div>
      </Notice>
    </div>
  )
}

function Settings({ apiKey }: { apiKey: Key }) {
  const limits = effectiveLimits(apiKey.plan, apiKey.limits ?? {})
  return (
    <Card title="Settings" class="cards-full">
      <Facts
        facts={[
          ['Plan', apiKey.plan],
          [
            'Limits',
            `${formatCount(limits.perMinute)} requests a minute, ${formatCount(limits.perDay)} a day, ${formatCount(limits.streams)} event streams`,
          ],
          ['Scopes', <Tags key="scopes" texts={apiKey.scopes} />],
          [
            'Origins',
            apiKey.origins.length === 0 ? (
              'Any, the key is secret'
            ) : (
              <Tags key="origins" texts={apiKey.origins} />
            ),
          ],
          ['Created', formatDateTime(apiKey.createdAt)],
          ['Last used', apiKey.lastUsedAt === null ? 'Never' : <TimeAgo key="used" at={apiKey.lastUsedAt} />],
          ['Expires', apiKey.expiresAt && formatDateTime(apiKey.expiresAt)],
          ['Revoked', apiKey.revokedAt && formatDateTime(apiKey.revokedAt)],
        ]}
      />
    </Card>
  )
}
