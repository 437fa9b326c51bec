import { useEffect, useState } from 'preact/hooks'
import type { StoreProfile } from '../../../../client/src/index.ts'
import { useResource } from '../../app/resource.ts'
import { hasScope } from '../../app/session.ts'
import { store } from '../../app/store.ts'
import { collectEvents, streamReady } from '../../app/stream.ts'
import { Button } from '../../components/Button.tsx'
import { Card } from '../../components/Card.tsx'
import { Facts } from '../../components/Facts.tsx'
import { LiveIndicator } from '../../components/LiveIndicator.tsx'
import { PageHeader } from '../../components/PageHeader.tsx'
import { ResourceView } from '../../components/ResourceView.tsx'
import { AdoptionPageCard } from './AdoptionPageCard.tsx'
import { storeFields } from './fields.ts'
import { StoreDialog } from './StoreDialog.tsx'
import './store.css'

const collectMs = 250

export default function Store() {
  const [isEditing, setEditing] = useState(false)
  const profile = useResource(async (signal) => {
    await streamReady()
    return store.profile.get({ signal })
  })
  const { data, reload, set } = profile
  useEffect(() => collectEvents(({ type }) => type === 'store.updated', reload, collectMs), [])
  return (
    <>
      <PageHeader
        title="Store"
        text="What visitors read about the store, and its adoption page."
        actions={<LiveIndicator onRefresh={reload} />}
      />
      <ResourceView resource={profile} name="store profile" rows={4}>
        {(loaded) => (
          <div class="cards">
            <AdoptionPageCard profile={loaded} onChange={set} />
            <ProfileCard profile={loaded} onEdit={() => setEditing(true)} />
          </div>
        )}
      </ResourceView>
      {isEditing && data && <StoreDialog profile={data} onLoaded={set} onClose={() => setEditing(false)} />}
    </>
  )
}

type ProfileCardProps = { profile: StoreProfile; onEdit(): void }

const ProfileCard = ({ profile, onEdit }: ProfileCardProps) => (
  <Card title="Store profile" actions={hasScope('keys:manage') && <Button onClick={onEdit}>Edit</Button>}>
    <Facts
      facts={storeFields.map(({ name, label }) => [
        label,
        profile[name] === null ? (
          <span class="muted">Not set</span>
        ) : (
          <bdi class="store-text">{profile[name]}</bdi>
        ),
      ])}
    />
  </Card>
)
