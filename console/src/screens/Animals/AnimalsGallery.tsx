import { categoryName } from '../../app/categories.ts'
import { hrefOf } from '../../app/router.ts'
import { hasScope } from '../../app/session.ts'
import { isPhone } from '../../app/viewport.ts'
import { PagedView } from '../../components/PagedView.tsx'
import { StatusChip } from '../../components/StatusChip.tsx'
import { VirtualGrid } from '../../components/VirtualGrid.tsx'
import { AnimalActions } from './AnimalActions.tsx'
import { AnimalPhoto } from './AnimalPhoto.tsx'
import type { AnimalsViewProps } from './AnimalsTable.tsx'
import { type Animal, detailsOf } from './animal.ts'
import { changedIds } from './animalList.ts'
import { SelectBox } from './selection.tsx'
import './gallery.css'

/** In pixels. The text has the height of .animal-text in gallery.css. */
const textHeight = 98
const widthMin = { desktop: 208, phone: 136 }
const gap = { desktop: 16, phone: 10 }

/** The animals as cards with photos. */
export const AnimalsGallery = ({ list, empty, ...props }: AnimalsViewProps) => {
  const size = isPhone.value ? 'phone' : 'desktop'
  return (
    <PagedView list={list} noun="animal" empty={empty} loading={<LoadingCards />} class="gallery">
      {(items) => (
        <VirtualGrid
          {...items}
          widthMin={widthMin[size]}
          gap={gap[size]}
          heightOf={(width) => width * 0.75 + textHeight}
          render={(animal) => <AnimalCard {...props} list={list} animal={animal} />}
        />
      )}
    </PagedView>
  )
}

const LoadingCards = () => (
  <div class="gallery-loading" role="status" aria-label="Loading animals">
    {Array.from({ length: 8 }, (_, index) => (
      <div key={index} class="animal-card" />
    ))}
  </div>
)

type AnimalCardProps = Omit<AnimalsViewProps, 'empty'> & { animal: Animal }

function AnimalCard({ list, animal, selection, onDialog }: AnimalCardProps) {
  const { id, name, status, about, listed, categoryId } = animal
  const isChanged = changedIds.value.has(id)
  const isSelected = selection.ids.has(id)
  const details = detailsOf({ listed, about: about || categoryName(categoryId) })
  return (
    <article class={`animal-card ${isChanged ? 'row-changed' : ''} ${isSelected ? 'row-selected' : ''}`}>
      <AnimalPhoto animal={animal} sizes="(max-width: 640px) 50vw, 300px" />
      {hasScope('pets:write') && <SelectBox selection={selection} animal={animal} />}
      <div class="animal-text">
        <h2>
          <a href={hrefOf(`animals/${id}`)} title={name}>
            {name}
          </a>
        </h2>
        <p class="muted" title={details}>
          {details}
        </p>
        <div class="animal-state">
          <StatusChip status={status} />
        </div>
      </div>
      <AnimalActions list={list} pet={animal} onDialog={onDialog} />
    </article>
  )
}
