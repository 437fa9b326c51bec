import { useLayoutEffect, useRef } from 'preact/hooks'
import type { Photo } from '../../../../../client/src/index.ts'
import { keepFocus } from '../../../app/focus.ts'
import { IconButton } from '../../../components/Button.tsx'
import { Menu } from '../../../components/Menu.tsx'
import { type PetPhotos, photoPath } from './petPhotos.ts'

type PhotoTileProps = {
  photos: PetPhotos
  photo: Photo
  place: number
  count: number
  isDragged: boolean
  /** The dragged photo would get this place. */
  isTarget: boolean
  onDrag(photo: Photo | undefined): void
  /** The dragged photo is over this one. */
  onOver(): void
  onDescribe(): void
}

/** Not `text/plain`: a browser would add such text to a field on which the photo is dropped. */
const dragType = 'application/x-petstore-photo'

/** One photo. It is moved by dragging, with its buttons, or with the arrow keys. */
export function PhotoTile(props: PhotoTileProps) {
  const { photos, photo, place, count, isDragged, isTarget, onDrag, onOver, onDescribe } = props
  const name = `Photo ${place + 1}`
  const focused = useRef<Element | null>(null)
  const move = (to: number) => {
    focused.current = document.activeElement
    photos.move(photo, to)
  }
  const tile = useRef<HTMLLIElement>(null)
  const shownPlace = useRef(place)
  // An element that is moved in the document loses the focus.
  useLayoutEffect(() => {
    if (tile.current && shownPlace.current !== place) layOutAgain(tile.current)
    shownPlace.current = place
    if (focused.current instanceof HTMLElement) focused.current.focus()
    focused.current = null
  }, [place])
  const onKeyDown = (event: KeyboardEvent) => {
    const to = { ArrowLeft: place - 1, ArrowRight: place + 1, Home: 0, End: count - 1 }[event.key]
    if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    move(to)
  }
  const remove = () => {
    photos.remove(photo)
    keepFocus()
  }
  return (
    <li
      ref={tile}
      class={`photo ${isDragged ? 'photo-dragged' : ''} ${isTarget ? 'photo-target' : ''}`}
      draggable
      onDragStart={(event) => {
        event.dataTransfer?.setData(dragType, photo.id)
        onDrag(photo)
      }}
      onDragEnd={() => onDrag(undefined)}
      onDragEnter={onOver}
    >
      <button
        type="button"
        class="photo-image"
        aria-label={`${name}: ${photo.alt ?? 'no alternative text'}`}
        aria-describedby="photo-keys"
        onClick={onDescribe}
        onKeyDown={onKeyDown}
      >
        <img
          src={photoPath(photo, 320)}
          alt=""
          loading="lazy"
          draggable={false}
          style={{ backgroundColor: photo.color }}
        />
      </button>
      {place === 0 && <span class="photo-cover">Cover</span>}
      <button
        type="button"
        class={`photo-text ${photo.alt === null ? 'photo-text-missing' : ''}`}
        onClick={onDescribe}
      >
        {photo.alt ?? 'Add alternative text'}
      </button>
      <div class="photo-actions">
        <IconButton
          label={`Move ${name.toLowerCase()} left`}
          icon="back"
          aria-disabled={place === 0 ? 'true' : undefined}
          onClick={() => move(place - 1)}
        />
        <span class="photo-forward">
          <IconButton
            label={`Move ${name.toLowerCase()} right`}
            icon="back"
            aria-disabled={place === count - 1 ? 'true' : undefined}
            onClick={() => move(place + 1)}
          />
        </span>
        <Menu
          label={`Actions for ${name.toLowerCase()}`}
          items={[
            { label: 'Describe', onSelect: onDescribe },
            ...(place > 0
              ? [
                  { label: 'Use as cover', onSelect: () => move(0) },
                  { label: 'Move left', onSelect: () => move(place - 1) },
                ]
              : []),
            ...(place < count - 1 ? [{ label: 'Move right', onSelect: () => move(place + 1) }] : []),
            { label: 'Remove', isDanger: true, onSelect: remove },
          ]}
        />
      </div>
    </li>
  )
}

/** Chromium does not show all of the content of an element that was moved in the document. */
function layOutAgain(element: HTMLElement): void {
  element.style.display = 'none'
  element.getBoundingClientRect()
  element.style.display = ''
}
