import { useEffect, useState } from 'preact/hooks'
import { onEvent } from '../../api/stream.ts'
import type { Pet } from '../../api/types.ts'

/** The animal as others change it while a dialog is open. `removed` if they have removed it. */
export function useFollowedPet<T extends Pet | undefined>(pet: T): T | Pet | 'removed' {
  const [current, setCurrent] = useState<T | Pet | 'removed'>(pet)
  useEffect(
    () =>
      onEvent((event) => {
        if (event.type === 'pet.deleted' && event.data.id === pet?.id) setCurrent('removed')
        else if (event.type === 'pet.updated' && event.data.id === pet?.id) setCurrent(event.data as Pet)
      }),
    [pet?.id],
  )
  return current
}
