import type { Http } from '../http.ts'
import { type List, listOf } from '../list.ts'
import type { ChangeOptions, CreateOptions, RequestOptions } from '../options.ts'
import type { Int64, NewPet, Operations, Pet, PetChange } from '../schema.ts'
import { PetHistory, Photos, Profiles } from './profiles.ts'
import { Resource } from './resource.ts'

export class Pets extends Resource {
  declare readonly profile: Profiles
  declare readonly photos: Photos
  declare readonly history: PetHistory

  constructor(http: Http) {
    super(http)
    this.profile = new Profiles(http)
    this.photos = new Photos(http)
    this.history = new PetHistory(http)
  }

  /** Animals, newest first. */
  list(query: Operations['listPets']['query'] = {}, options?: RequestOptions): List<Pet> {
    return listOf(this.http, 'listPets', { query }, options)
  }

  /** @deprecated It will be removed on 5 December 2030. Use `list({ id: [petId] })`. */
  get(petId: Int64, options?: RequestOptions): Promise<Pet> {
    return this.http.call('getPet', { params: { petId } }, options)
  }

  /** Adds an animal. A category that does not exist is created without a name. */
  create(pet: NewPet, options?: CreateOptions): Promise<Pet> {
    return this.http.call('createPet', { body: pet }, options)
  }

  /** Changes the given fields of an animal. */
  update(petId: Int64, change: PetChange, options?: ChangeOptions): Promise<Pet> {
    return this.http.call('updatePet', { params: { petId }, body: change }, options)
  }

  /** Removes an animal. */
  delete(petId: Int64, options?: ChangeOptions): Promise<void> {
    return this.http.call('deletePet', { params: { petId } }, options)
  }
}
