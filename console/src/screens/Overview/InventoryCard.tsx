import { useEffect } from 'preact/hooks'
import type { Inventory } from '../../../../client/src/index.ts'
import { petStatuses } from '../../../../src/pets/pet.ts'
import { formatCount, pluralize } from '../../app/format.ts'
import { usePolling, useResource } from '../../app/resource.ts'
import { hrefOf } from '../../app/router.ts'
import { store } from '../../app/store.ts'
import { collectEvents, streamState } from '../../app/stream.ts'
import { Card } from '../../components/Card.tsx'
import { EmptyState } from '../../components/EmptyState.tsx'
import { ResourceView } from '../../components/ResourceView.tsx'
import { statusName } from '../../components/StatusChip.tsx'

/** Changes within this time are counted together. */
const collectMs = 400
const pollMs = 30_000

export function InventoryCard() {
  const inventory = useResource((signal) => store.inventory.get({ signal }))
  usePolling(inventory, streamState.value === 'live' ? undefined : pollMs)
  useEffect(() => collectEvents(({ type }) => type.startsWith('pet.'), inventory.reload, collectMs), [])
  const total = inventory.data ? totalOf(inventory.data) : 0
  return (
    <Card title="Inventory" {...(total > 0 && { text: pluralize(total, 'animal') })}>
      <ResourceView resource={inventory} name="inventory">
        {(data) => (total === 0 ? <NoAnimals /> : <Figures inventory={data} />)}
      </ResourceView>
    </Card>
  )
}

const totalOf = (inventory: Inventory): number =>
  petStatuses.reduce((total, status) => total + inventory[status], 0)

const NoAnimals = () => (
  <EmptyState
    icon="paw"
    title="No animals yet"
    text="Add the first animal that can be adopted."
    action={
      <a class="button button-primary button-normal" href={hrefOf('animals')}>
        Go to Animals
      </a>
    }
  />
)

function Figures({ inventory }: { inventory: Inventory }) {
  const total = totalOf(inventory)
  const summary = petStatuses.map((status) => `${formatCount(inventory[status])} ${status}`).join(', ')
  return (
    <>
      <ul class="figures">
        {petStatuses.map((status) => (
          <li key={status}>
            <a class="figure" href={`${hrefOf('animals')}?status=${status}`}>
              <span class="figure-name">
                <span class={`figure-swatch share-${status}`} aria-hidden="true" />
                {statusName(status)}
              </span>
              <strong class="figure-value">{formatCount(inventory[status])}</strong>
              <span class="figure-share">{Math.round((inventory[status] / total) * 100)}%</span>
            </a>
          </li>
        ))}
      </ul>
      <div class="shares" role="img" aria-label={`Share of each status: ${summary}`}>
        {petStatuses
          .filter((status) => inventory[status] > 0)
          .map((status) => (
            <span key={status} class={`share-${status}`} style={{ flexGrow: inventory[status] }} />
          ))}
      </div>
    </>
  )
}
