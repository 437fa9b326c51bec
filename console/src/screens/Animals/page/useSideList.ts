import { useEffect, useMemo } from 'preact/hooks'
import type { Int64 } from '../../../../../client/src/index.ts'
import type { ListOptions } from '../../../app/listTypes.ts'
import { PagedList } from '../../../app/pagedList.ts'
import { collectEvents } from '../../../app/stream.ts'
import { useList } from '../../../app/useList.ts'
import { collectMs, isAbout, type SideCardProps } from './events.ts'

/** A list beside the profile. It is read again with each version of the animal, and when its orders change. */
export function useSideList<T extends { id: Int64 }>(
  { petId, version }: SideCardProps,
  options: ListOptions<T>,
): PagedList<T> {
  const list = useMemo(() => new PagedList<T>(options), [petId])
  useList(list, () =>
    collectEvents(
      (event) => event.type.startsWith('order.') && isAbout(event, petId),
      () => void list.refresh(),
      collectMs,
    ),
  )
  useEffect(() => void list.refresh(), [version])
  return list
}
