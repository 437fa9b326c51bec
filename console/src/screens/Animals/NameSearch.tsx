import { formatCount, pluralize } from '../../app/format.ts'
import { Button } from '../../components/Button.tsx'
import { EmptyState } from '../../components/EmptyState.tsx'
import { ErrorState } from '../../components/ErrorState.tsx'
import { canSearchOlder, type PetList, searchStep } from './pets.ts'

type CoverageProps = {
  list: PetList
  /** Whether a status or a category is chosen. */
  hasFilters: boolean
}
type NameSearchProps = CoverageProps & {
  /** Whether older animals are being searched. */
  isSearching: boolean
  onSearch(): void
}

/** A search by name covers what is loaded. This says what was searched, and searches more on request. */
export function NameSearch({ list, hasFilters, isSearching, onSearch }: NameSearchProps) {
  const { length } = list.size.value
  const error = list.error.value
  const action = (isSearching || canSearchOlder(list)) && (
    <Button size="small" isBusy={isSearching} onClick={onSearch}>
      Search {formatCount(searchStep)} more
    </Button>
  )
  if (length > 0)
    return (
      <div class="name-search">
        <p role="status">
          Found {formatCount(length)}. <Coverage list={list} hasFilters={hasFilters} />
        </p>
        {action}
      </div>
    )
  if (list.state.value === 'error' && error)
    return <ErrorState error={error} hasContent onRetry={() => void list.loadMore()} />
  return (
    <EmptyState
      icon="search"
      title="Not found so far"
      text={<Coverage list={list} hasFilters={hasFilters} />}
      action={action}
    />
  )
}

/** "Only the newest 100 animals were searched." */
export function Coverage({ list, hasFilters }: CoverageProps) {
  const { loadedCount } = list.size.value
  const which = hasFilters ? ' with this status and category' : ''
  if (list.state.value === 'end')
    return (
      <>
        {loadedCount === 1 ? 'The only animal' : `All ${pluralize(loadedCount, 'animal')}`}
        {which} {loadedCount === 1 ? 'was' : 'were'} searched.
      </>
    )
  return (
    <>
      <strong>Only the newest {pluralize(loadedCount, 'animal')}</strong>
      {which} were searched.
      {list.state.value === 'more' &&
        !canSearchOlder(list) &&
        ' That is the most. Choose a status or a category to search older animals.'}
    </>
  )
}
