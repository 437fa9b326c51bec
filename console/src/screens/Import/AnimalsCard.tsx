import type { Import } from '../../../../client/src/index.ts'
import { Card } from '../../components/Card.tsx'
import { StatusChip } from '../../components/StatusChip.tsx'

type Animal = Import['animals'][number]

const changes = {
  added: ['success', 'New'],
  changed: ['info', 'Changed'],
  unchanged: ['neutral', 'Unchanged'],
} as const

/** The first animals as they would be stored. */
export function AnimalsCard({ preview: { animals, total } }: { preview: Import }) {
  if (animals.length === 0) return null
  return (
    <Card
      title="The first animals"
      {...(total > animals.length && { text: `${animals.length} of them, as they would be stored.` })}
    >
      <ul class="import-animals">
        {animals.map((animal) => (
          <AnimalRow key={animal.line} animal={animal} />
        ))}
      </ul>
    </Card>
  )
}

function AnimalRow({ animal }: { animal: Animal }) {
  const [tone, label] = changes[animal.change]
  return (
    <li>
      <div class="import-animal-text">
        <strong>
          <bdi>{animal.name}</bdi>
        </strong>
        <span class="cell-detail">
          <bdi>{detailsOf(animal)}</bdi>
        </span>
      </div>
      <StatusChip status={animal.status} />
      <span class={`chip chip-${tone}`}>{label}</span>
    </li>
  )
}

function detailsOf({ category, profile }: Animal): string {
  const { species, breeds, sex, birthDate, ageGroup, externalId, description } = profile
  const kind = /^-?\d+$/.test(category) ? (species ?? `Category ${category}`) : category
  const parts = [kind, breeds?.join(', '), sex, birthDate ?? ageGroup, externalId, description?.slice(0, 120)]
  return parts.filter(Boolean).join(' · ')
}
