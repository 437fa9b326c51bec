import { useEffect, useState } from 'preact/hooks'
import { effectiveLimits } from '../../../../src/limits/plans.ts'
import { call } from '../../api/client.ts'
import { toRequestError } from '../../api/errors.ts'
import { isId, parseId } from '../../api/json.ts'
import { onEvent } from '../../api/stream.ts'
import type { Key, KeyWithSecret } from '../../api/types.ts'
import { formatCount, formatDateTime } from '../../app/format.ts'
import { useResource } from '../../app/resource.ts'
import { refreshSession } from '../../app/session.ts'
import { showError, showToast } from '../../app/toasts.ts'
import { Button } from '../../components/Button.tsx'
import { Card } from '../../components/Card.tsx'
import { Countdown } from '../../components/Countdown.tsx'
import { DetailHeader } from '../../components/DetailHeader.tsx'
import { Name } from '../../components/Name.tsx'
import { Notice } from '../../components/Notice.tsx'
import { PendingDetail } from '../../components/PendingDetail.tsx'
import { SecretDialog } from '../../components/SecretDialog.tsx'
import { StatusChip } from '../../components/StatusChip.tsx'
import { Tags } from '../../components/Tags.tsx'
import { TimeAgo } from '../../components/TimeAgo.tsx'
import { KeyDialog } from './KeyDialog.tsx'
import { KeyUsage } from './KeyUsage.tsx'
import { RevokeDialog, RotateDialog } from './keyActions.tsx'
import { curlLine, isOwnKey, keyStatus } from './keyList.ts'

const parent = { path: 'keys', name: 'Keys' }
type OpenDialog = 'edit' | 'rotate' | 'revoke'

export function KeyDetail({ keyId }: { keyId: string }) {
  const params = { keyId: parseId(isId(keyId) ? keyId : '0') }
  const {
    data: key,
    error,
    reload,
    set,
  } = useResource((signal) => call('getKey', { params, signal }), [keyId])
  useEffect(
    () =>
      onEvent((event) => {
        if (event.type.startsWith('key.') && event.data.id === params.keyId) reload()
      }),
    [keyId],
  )
  if (!key) return <PendingDetail kind="Key" id={keyId} parent={parent} error={error} onRetry={reload} />
  return <LoadedKey apiKey={key} onChange={set} onReload={reload} />
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
        text={
          <span class="key-status">
            <StatusChip status={keyStatus(apiKey)} />
            Key {String(apiKey.id)}
            {isOwnKey(apiKey) && ' · You are signed in with it'}
          </span>
        }
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
        <SecretDialog
          title={
            <>
              New secret of “<Name>{rotated.name}</Name>”
            </>
          }
          label="API key"
          secret={rotated.key}
          command={curlLine(rotated, rotated.key)}
          onClose={() => setRotated(undefined)}
        />
      )}
    </>
  )
}

function Ban({ apiKey, onLifted }: { apiKey: Key; onLifted(): void }) {
  const [isBusy, setBusy] = useState(false)
  async function lift() {
    setBusy(true)
    try {
      await call('liftKeyBan', { params: { keyId: apiKey.id } })
      showToast('Ban lifted.')
    } catch (thrown) {
      showError(toRequestError(thrown).message)
    }
    setBusy(false)
    onLifted()
  }
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
  const optional: [name: string, at: string | undefined][] = [
    ['Expires', apiKey.expiresAt],
    ['Revoked', apiKey.revokedAt],
  ]
  return (
    <Card title="Settings" class="cards-full">
      <dl class="facts">
        <dt>Plan</dt>
        <dd>{apiKey.plan}</dd>
        <dt>Limits</dt>
        <dd>
          {formatCount(limits.perMinute)} requests a minute, {formatCount(limits.perDay)} a day,{' '}
          {formatCount(limits.streams)} event streams
        </dd>
        <dt>Scopes</dt>
        <dd>
          <Tags texts={apiKey.scopes} />
        </dd>
        <dt>Origins</dt>
        <dd>{apiKey.origins.length === 0 ? 'Any, the key is secret' : <Tags texts={apiKey.origins} />}</dd>
        <dt>Created</dt>
        <dd>{formatDateTime(apiKey.createdAt)}</dd>
        <dt>Last used</dt>
        <dd>{apiKey.lastUsedAt === null ? 'Never' : <TimeAgo at={apiKey.lastUsedAt} />}</dd>
        {optional.map(
          ([name, at]) =>
            at !== undefined && (
              <>
                <dt>{name}</dt>
                <dd>{formatDateTime(at)}</dd>
              </>
            ),
        )}
      </dl>
    </Card>
  )
}
