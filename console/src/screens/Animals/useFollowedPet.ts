import { useCallback, useEffect, useState } from 'preact/hooks'
import type { Pet } from '../../../../client/src/index.ts'
import { toRequestError } from '../../app/errors.ts'
import { store } from '../../app/store.ts'
import { followEvents } from '../../app/stream.ts'

/** The animal as others change it while a dialog is open. `removed` if they have removed it. */
export function useFollowedPet<T extends Pet | undefined>(pet: T): T | Pet | 'removed' {
  const [current, setCurrent] = useState<T | Pet | 'removed'>(pet)
  useEffect(
    () =>
      followEvents((event) => {
        if (event.type === 'pet.deleted' && event.data.id === pet?.id) setCurrent('removed')
        else if (event.type === 'pet.updated' && event.data.id === pet?.id) setCurrent(event.data)
      }),
    [pet?.id],
  )
  return current
}

type PetVersion = { readonly pet: Pet | 'removed'; readonly etag: string | undefined }

/** The animal as the API has it, with its ETag, loaded when the dialog opens and again when others change the animal. */
export function usePetVersion(pet: Pet | undefined): {
  version: PetVersion | undefined
  loadVersion(): Promise<PetVersion | undefined>
} {
  const [version, setVersion] = useState<PetVersion>()
  const followed = useFollowedPet(pet)
  const loadVersion = useCallback(async () => {
    if (!pet) return undefined
    const loaded = await store.listings.get(pet.id, { view: 'staff' }).then(
      ({ pet: current, etags }): PetVersion => ({ pet: current, etag: etags.pet }),
      (thrown: unknown): PetVersion | undefined =>
        toRequestError(thrown).code === 'pet_not_found' ? { pet: 'removed', etag: undefined } : undefined,
    )
    if (loaded) setVersion(loaded)
    return loaded
  }, [pet?.id])
  useEffect(() => {
    if (followed === 'removed') setVersion({ pet: 'removed', etag: undefined })
    else void loadVersion()
  }, [followed, loadVersion])
  return { version, loadVersion }
}
