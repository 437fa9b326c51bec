import { type Animal, colorOf, initialsOf, photoUrl } from './animal.ts'

/** The number of classes .initials-0, .initials-1 and so on. */
const colorCount = 5

type AnimalPhotoProps = {
  animal: Animal
  /** The width on the screen, as in the `sizes` of an image. */
  sizes: string
}

/** The first photo, on its color until it is loaded. Without a photo, the initials. Its box has a size of its own. */
export const AnimalPhoto = ({ animal: { id, name, photo }, sizes }: AnimalPhotoProps) =>
  photo ? (
    <img
      class="animal-photo"
      src={photoUrl(photo.id, 320)}
      srcset={`${photoUrl(photo.id, 320)} 320w, ${photoUrl(photo.id, 640)} 640w`}
      sizes={sizes}
      width={photo.width}
      height={photo.height}
      alt={photo.alt ?? ''}
      loading="lazy"
      decoding="async"
      draggable={false}
      style={{ backgroundColor: photo.color }}
    />
  ) : (
    <span class={`animal-photo initials initials-${colorOf(id, colorCount)}`} aria-hidden="true">
      {initialsOf(name)}
    </span>
  )
