import type { Listing } from '../../../../../client/src/index.ts'
import { summaryOf } from '../../../../../src/profiles/profile.ts'
import type { Resource } from '../../../app/resource.ts'
import { Card } from '../../../components/Card.tsx'
import { Facts } from '../../../components/Facts.tsx'
import { Icon } from '../../../components/Icon.tsx'
import { ResourceView } from '../../../components/ResourceView.tsx'
import { StatusChip } from '../../../components/StatusChip.tsx'
import { factsOf } from './facts.ts'
import './listing.css'
import { photoPath } from './petPhotos.ts'

/** The listing as a key without `pets:write` gets it. */
export function PublicCard({ listing }: { listing: Resource<Listing> }) {
  const isHidden = listing.error?.status === 404
  return (
    <Card title="How others see it">
      {isHidden ? (
        <p class="muted">
          Not listed. Others see only the name, the category and the status, not the profile and the photos.
          To list the animal, turn on <em>Show in listings</em> under Adoption.
        </p>
      ) : (
        <ResourceView resource={listing} name="listing" rows={4}>
          {(data) => <PublicListing listing={data} />}
        </ResourceView>
      )}
    </Card>
  )
}

function PublicListing({ listing: { pet, profile, photos } }: { listing: Listing }) {
  const [cover] = photos
  const summary = summaryOf(profile.description ?? null)
  return (
    <div class="listing">
      {cover ? (
        <img
          class="listing-photo"
          src={photoPath(cover, 640)}
          alt={cover.alt ?? ''}
          style={{ backgroundColor: cover.color }}
        />
      ) : (
        <div class="listing-photo listing-blank">
          <Icon name="paw" />
        </div>
      )}
      <p class="listing-name">
        <strong>
          <bdi>{pet.name}</bdi>
        </strong>
        <StatusChip status={pet.status} />
      </p>
      <Facts facts={factsOf(profile)} />
      {summary !== null && <p class="listing-text">{summary}</p>}
    </div>
  )
}

/** The page for a key that cannot change the animal: all that the listing has. */
export const ReadOnlyListing = ({ listing: { pet, profile, photos } }: { listing: Listing }) => (
  <>
    {photos.length > 0 && (
      <Card title="Photos">
        <ul class="photos">
          {photos.map((photo) => (
            <li key={photo.id} class="photo">
              <img
                class="photo-image"
                src={photoPath(photo, 320)}
                alt={photo.alt ?? ''}
                loading="lazy"
                style={{ backgroundColor: photo.color }}
              />
              {photo.caption !== null && <p class="photo-caption">{photo.caption}</p>}
            </li>
          ))}
        </ul>
      </Card>
    )}
    <Card title="Profile">
      <div class="listing">
        {profile.description !== null && <p class="listing-text">{profile.description}</p>}
        {factsOf(profile).every(([, value]) => value === undefined) && profile.description === null ? (
          <p class="muted">
            Nothing is known about <bdi>{pet.name}</bdi> yet.
          </p>
        ) : (
          <Facts facts={factsOf(profile)} />
        )}
      </div>
    </Card>
  </>
)
