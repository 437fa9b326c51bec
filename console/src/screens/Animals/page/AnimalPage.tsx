import { useEffect, useMemo, useRef } from 'preact/hooks'
import type { Int64, Listing } from '../../../../../client/src/index.ts'
import { loadCategories } from '../../../app/categories.ts'
import { idInAddress } from '../../../app/ids.ts'
import { type Resource, useResource } from '../../../app/resource.ts'
import { hasScope } from '../../../app/session.ts'
import { store } from '../../../app/store.ts'
import { collectEvents, streamReady, streamState } from '../../../app/stream.ts'
import { NotFound } from '../../../components/NotFound.tsx'
import { Notice } from '../../../components/Notice.tsx'
import { PendingDetail } from '../../../components/PendingDetail.tsx'
import { AnimalHeader, parent } from './AnimalHeader.tsx'
import { collectMs, isAbout } from './events.ts'
import { HistoryCard } from './HistoryCard.tsx'
import { OrdersCard } from './OrdersCard.tsx'
import './page.css'
import './photos.css'
import { PhotosCard } from './PhotosCard.tsx'
import { ProfileSections, UnsavedChanges } from './ProfileSections.tsx'
import { PublicCard, ReadOnlyListing } from './PublicCard.tsx'
import { PetPhotos } from './petPhotos.ts'
import { ProfileDraft } from './profileDraft.ts'
import { Uploads } from './uploads.ts'

/** All about one animal: its photos, its profile, its orders and its history. */
export function AnimalPage({ petId }: { petId: string }) {
  const id = idInAddress(petId)
  const canWrite = hasScope('pets:write')
  const listing = useListing(id, canWrite ? 'staff' : undefined)
  useEffect(() => void loadCategories(), [])
  const { data, error, reload } = listing
  if (!canWrite && !data && error?.status === 404)
    return (
      <NotFound
        title="Animal not found"
        text="No animal has this id, or it is not listed. Only staff see animals that are not listed."
        target={parent}
      />
    )
  if (!data) return <PendingDetail kind="Animal" id={petId} parent={parent} error={error} onRetry={reload} />
  const isRemoved = error?.status === 404
  return (
    <div class="animal-page">
      <AnimalHeader pet={data.pet} isPresent={!isRemoved} onReload={reload} />
      {canWrite ? (
        <EditedAnimal key={petId} listing={data} isRemoved={isRemoved} onReload={reload} />
      ) : (
        <ReadOnlyAnimal listing={data} isRemoved={isRemoved} />
      )}
    </div>
  )
}

type ReadOnlyAnimalProps = {
  listing: Listing
  /** It was removed after it was loaded, or is no longer listed. */
  isRemoved: boolean
  /** What was edited until then. */
  draft?: ProfileDraft
}

const ReadOnlyAnimal = ({ listing, isRemoved, draft }: ReadOnlyAnimalProps) => (
  <div class="animal-columns">
    <div class="animal-main">
      {isRemoved && (
        <Notice tone="danger">
          {draft
            ? 'Someone else has removed this animal.'
            : 'Someone else has removed this animal, or it is no longer listed.'}
        </Notice>
      )}
      {draft && <UnsavedChanges draft={draft} />}
      <ReadOnlyListing listing={listing} />
    </div>
    {hasScope('orders:read') && (
      <div class="animal-side">
        <OrdersCard petId={listing.pet.id} version={listing} />
      </div>
    )}
  </div>
)

/** The listing of an animal, loaded again when the animal changes. */
function useListing(id: Int64, view: 'staff' | undefined): Resource<Listing> {
  const resource = useResource(
    async (signal) => {
      await streamReady()
      return store.listings.get(id, view ? { view } : {}, { signal })
    },
    [id, view],
  )
  useEffect(
    () =>
      collectEvents(
        (event) => !event.type.startsWith('order.') && isAbout(event, id),
        resource.reload,
        collectMs,
      ),
    [id, view],
  )
  return resource
}

type EditedAnimalProps = { listing: Listing; isRemoved: boolean; onReload(): void }

function EditedAnimal({ listing, isRemoved, onReload }: EditedAnimalProps) {
  const { id } = listing.pet
  const first = useRef(listing)
  const shown = useResource((signal) => store.listings.get(id, {}, { signal }), [id])
  const draft = useMemo(() => {
    // Otherwise the event of the change does it.
    const reloadUnlessLive = () => {
      if (streamState.peek() !== 'live') onReload()
    }
    return new ProfileDraft(listing.profile, listing.etags.profile, reloadUnlessLive)
  }, [id])
  const photos = useMemo(() => new PetPhotos(id, listing.photos, onReload), [id])
  const uploads = useMemo(() => new Uploads(id, onReload), [id])
  useEffect(() => {
    draft.receive(listing.profile, listing.etags.profile)
    photos.receive(listing.photos)
    // The first version was just loaded.
    if (listing !== first.current) shown.reload()
  }, [listing])
  if (isRemoved) return <ReadOnlyAnimal listing={listing} isRemoved draft={draft} />
  return (
    <div class="animal-columns">
      <div class="animal-main">
        <div class="animal-intro">
          <p class="muted">Changes to the profile are saved automatically.</p>
          <PageParts />
        </div>
        <PhotosCard petId={id} photos={photos} uploads={uploads} onChange={onReload} />
        <ProfileSections draft={draft} />
      </div>
      <div class="animal-side">
        <PublicCard listing={shown} />
        {hasScope('orders:read') && <OrdersCard petId={id} version={listing} />}
        <HistoryCard petId={id} version={listing} />
      </div>
    </div>
  )
}

/** Where only one column fits, the parts are far from each other. */
const PageParts = () => (
  <nav class="animal-parts" aria-label="Parts of this page">
    {['Photos', 'Profile', ...(hasScope('orders:read') ? ['Orders'] : []), 'History'].map((name) => (
      <a key={name} href={`#${name.toLowerCase()}`}>
        {name}
      </a>
    ))}
  </nav>
)
