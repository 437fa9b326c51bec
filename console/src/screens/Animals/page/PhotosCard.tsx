import { useEffect, useRef, useState } from 'preact/hooks'
import type { Int64, Photo } from '../../../../../client/src/index.ts'
import { photosPerPetMax, uploadTypes } from '../../../../../src/photos/photo.ts'
import { useFileDrop } from '../../../app/useFileDrop.ts'
import { isTouch } from '../../../app/viewport.ts'
import { Button, IconButton } from '../../../components/Button.tsx'
import { Card } from '../../../components/Card.tsx'
import { Icon } from '../../../components/Icon.tsx'
import { PhotoDialog } from './PhotoDialog.tsx'
import { PhotoTile } from './PhotoTile.tsx'
import type { PetPhotos } from './petPhotos.ts'
import type { Upload, Uploads } from './uploads.ts'

type PhotosCardProps = { petId: Int64; photos: PetPhotos; uploads: Uploads; onChange(): void }

/** The photos of an animal: add, order, describe and remove them. */
export function PhotosCard({ petId, photos, uploads, onChange }: PhotosCardProps) {
  const shown = photos.shown.value
  const [describedId, setDescribedId] = useState<string>()
  const described = shown.find(({ id }) => id === describedId)
  const input = useRef<HTMLInputElement>(null)
  const isOver = useFileDrop((files) => uploads.add(files))
  const choose = () => input.current?.click()
  useUploadsUntilEnd(uploads)
  const isFull = shown.length >= photosPerPetMax
  return (
    <div class={`file-drop ${isOver ? 'file-drop-over' : ''}`}>
      <Card
        title="Photos"
        anchor="photos"
        text={
          shown.length === 0
            ? 'Animals with photos find a home sooner.'
            : `${shown.length} of ${photosPerPetMax}. JPEG, PNG or WebP.`
        }
        actions={
          shown.length > 0 && (
            <Button icon="plus" disabled={isFull} onClick={choose}>
              Add photos
            </Button>
          )
        }
      >
        <input
          ref={input}
          type="file"
          class="visually-hidden"
          tabIndex={-1}
          aria-label="Files of photos"
          accept={uploadTypes.join(',')}
          multiple
          onChange={({ currentTarget }) => {
            uploads.add(currentTarget.files ?? [])
            currentTarget.value = ''
          }}
        />
        {shown.length === 0 && (
          <button type="button" class="photos-empty" onClick={choose}>
            <Icon name="plus" />
            <strong>Add photos</strong>
            <span>
              {isTouch.value ? 'Take or choose photos.' : 'Drop files on this page, or choose them.'} Up to{' '}
              {photosPerPetMax}, JPEG, PNG or WebP.
            </span>
          </button>
        )}
        <PhotoGrid photos={photos} onDescribe={(photo) => setDescribedId(photo.id)} />
        <UploadList uploads={uploads} />
        <p class="visually-hidden" id="photo-keys">
          The arrow keys move the photo.
        </p>
        <p class="visually-hidden" role="status">
          {photos.announcement.value}
        </p>
      </Card>
      {described && (
        <PhotoDialog
          petId={petId}
          photo={described}
          onSaved={onChange}
          onClose={() => setDescribedId(undefined)}
        />
      )}
    </div>
  )
}

/** Uploads go on when another screen is shown. The browser asks before it closes the page. */
function useUploadsUntilEnd(uploads: Uploads): void {
  useEffect(() => {
    uploads.isShown = true
    const ask = (event: Event) => {
      if (uploads.isBusy) event.preventDefault()
    }
    globalThis.addEventListener('beforeunload', ask)
    return () => {
      uploads.isShown = false
      globalThis.removeEventListener('beforeunload', ask)
    }
  }, [uploads])
}

function PhotoGrid({ photos, onDescribe }: { photos: PetPhotos; onDescribe(photo: Photo): void }) {
  const shown = photos.shown.value
  const [dragged, setDragged] = useState<Photo>()
  const [place, setPlace] = useState<number>()
  if (shown.length === 0) return null
  const drop = (event: DragEvent) => {
    if (!dragged) return
    event.preventDefault()
    if (place !== undefined) photos.move(dragged, place)
    setDragged(undefined)
  }
  return (
    <ol
      class="photos"
      onDragOver={(event) => {
        if (dragged) event.preventDefault()
      }}
      onDrop={drop}
    >
      {shown.map((photo, index) => (
        <PhotoTile
          key={photo.id}
          photos={photos}
          photo={photo}
          place={index}
          count={shown.length}
          isDragged={photo.id === dragged?.id}
          isTarget={dragged !== undefined && place === index && photo.id !== dragged.id}
          onDrag={setDragged}
          onOver={() => setPlace(index)}
          onDescribe={() => onDescribe(photo)}
        />
      ))}
    </ol>
  )
}

const stateNames = { queued: 'Waiting', uploading: 'Uploading', done: 'Added', failed: 'Failed' }

const UploadList = ({ uploads }: { uploads: Uploads }) =>
  uploads.items.value.length === 0 ? null : (
    <ul class="uploads" aria-label="Uploads">
      {uploads.items.value.map((upload) => (
        <UploadRow key={upload.id} uploads={uploads} upload={upload} />
      ))}
    </ul>
  )

function UploadRow({ uploads, upload }: { uploads: Uploads; upload: Upload }) {
  const { id, name, state, message } = upload
  return (
    <li class={`upload upload-${state}`}>
      {state === 'uploading' ? <span class="spinner" aria-hidden="true" /> : <Icon name={icons[state]} />}
      <span class="upload-name">
        <bdi>{name}</bdi>
        {message !== undefined && <span class="upload-message">{message}</span>}
      </span>
      <span role="status" class={state === 'failed' ? 'visually-hidden' : ''}>
        {stateNames[state]}
      </span>
      {state === 'failed' && (
        <div class="upload-actions">
          <Button size="small" icon="refresh" onClick={() => uploads.retry(id)}>
            Retry
          </Button>
          <IconButton
            label={`Dismiss ${name}`}
            icon="close"
            size="small"
            onClick={() => uploads.dismiss(id)}
          />
        </div>
      )}
    </li>
  )
}

const icons = { queued: 'clock', done: 'check', failed: 'alert' } as const
