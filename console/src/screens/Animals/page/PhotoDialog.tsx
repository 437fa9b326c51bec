import { useState } from 'preact/hooks'
import type { Int64, Photo } from '../../../../../client/src/index.ts'
import { changedFields } from '../../../app/changedFields.ts'
import { store } from '../../../app/store.ts'
import { TextField } from '../../../components/Field.tsx'
import { FormDialog, useForm } from '../../../components/FormDialog.tsx'
import { FormError } from '../../../components/FormError.tsx'
import { photoPath } from './petPhotos.ts'

type PhotoDialogProps = { petId: Int64; photo: Photo; onSaved(): void; onClose(): void }

const orNull = (text: string) => (text.trim() === '' ? null : text.trim())

/** The texts of a photo. */
export function PhotoDialog({ petId, photo, onSaved, onClose }: PhotoDialogProps) {
  const [alt, setAlt] = useState(photo.alt ?? '')
  const [caption, setCaption] = useState(photo.caption ?? '')
  const form = useForm(
    () => true,
    async () => {
      const changes = changedFields({ alt: orNull(alt), caption: orNull(caption) }, photo)
      if (Object.keys(changes).length > 0) await store.pets.photos.update(petId, photo.id, changes)
      onSaved()
      onClose()
    },
  )
  return (
    <FormDialog form={form} title="Describe the photo" action="Save" onClose={onClose}>
      <img
        class="photo-preview"
        src={photoPath(photo, 640)}
        alt=""
        width={photo.width}
        height={photo.height}
        style={{ backgroundColor: photo.color }}
      />
      <FormError error={form.error} fields={['/alt', '/caption']} />
      <TextField
        label="Alternative text"
        hint="What the photo shows, for people who cannot see it. “Luna lies on a red blanket.”"
        isMultiline
        value={alt}
        error={form.error?.detail('/alt')}
        onValue={setAlt}
      />
      <TextField
        label="Caption"
        hint="Shown with the photo."
        isOptional
        value={caption}
        error={form.error?.detail('/caption')}
        onValue={setCaption}
      />
    </FormDialog>
  )
}
