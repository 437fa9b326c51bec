import { type List, listOf } from '../list.ts'
import type { ChangeOptions, CreateOptions, RequestOptions } from '../options.ts'
import type {
  HistoryEntry,
  Int64,
  Listing,
  Operations,
  Photo,
  PhotoChange,
  Profile,
  ProfileChange,
} from '../schema.ts'
import { Resource } from './resource.ts'

type View = Operations['getPetProfile']['query']

export class Profiles extends Resource {
  get(petId: Int64, query: View = {}, options?: RequestOptions): Promise<Profile> {
    return this.http.call('getPetProfile', { params: { petId }, query }, options)
  }

  /** Changes the given fields. A given field replaces the whole field, and `null` clears it. */
  update(petId: Int64, change: ProfileChange, options?: ChangeOptions): Promise<Profile> {
    return this.http.call('updatePetProfile', { params: { petId }, body: change }, options)
  }
}

/** The file of a photo: JPEG, PNG or WebP. */
type PhotoFile = Blob | ArrayBuffer | Uint8Array

export class Photos extends Resource {
  /** The photos of an animal, in order. */
  list(petId: Int64, query: View = {}, options?: RequestOptions): Promise<Photo[]> {
    return this.http.call('listPetPhotos', { params: { petId }, query }, options)
  }

  /** Adds a photo after the others. Its media type is that of the content, also for a Blob that names another. */
  async add(petId: Int64, file: PhotoFile, options?: CreateOptions): Promise<Photo> {
    const contentType = await imageType(file)
    const input = { params: { petId }, body: file }
    return this.http.call('addPetPhoto', input, { timeoutMs: uploadTimeoutMs, ...options, contentType })
  }

  /** Changes the texts of a photo, or its place among the photos of the animal. */
  update(petId: Int64, photoId: string, change: PhotoChange, options?: ChangeOptions): Promise<Photo> {
    return this.http.call('updatePetPhoto', { params: { petId, photoId }, body: change }, options)
  }

  delete(petId: Int64, photoId: string, options?: ChangeOptions): Promise<void> {
    return this.http.call('removePetPhoto', { params: { petId, photoId } }, options)
  }
}

/** As long as the service accepts an upload. */
const uploadTimeoutMs = 120_000

/** The media type by the first bytes. A file that is no image is sent as JPEG: the service says what is wrong with it. */
async function imageType(file: PhotoFile): Promise<string> {
  const start = file instanceof Blob ? await file.slice(0, 12).arrayBuffer() : file.slice(0, 12)
  const text = String.fromCharCode(...new Uint8Array(start))
  if (text.startsWith('\x89PNG')) return 'image/png'
  return text.startsWith('RIFF') && text.endsWith('WEBP') ? 'image/webp' : 'image/jpeg'
}

export class Listings extends Resource {
  /** Animals with their profiles and photos, newest first. */
  list(query: Operations['listListings']['query'] = {}, options?: RequestOptions): List<Listing> {
    return listOf(this.http, 'listListings', { query }, options)
  }

  get(
    petId: Int64,
    query: Operations['getListing']['query'] = {},
    options?: RequestOptions,
  ): Promise<Listing> {
    return this.http.call('getListing', { params: { petId }, query }, options)
  }
}

export class PetHistory extends Resource {
  /** What happened to an animal, newest first. */
  list(
    petId: Int64,
    query: Operations['listPetHistory']['query'] = {},
    options?: RequestOptions,
  ): List<HistoryEntry> {
    return listOf(this.http, 'listPetHistory', { params: { petId }, query }, options)
  }
}
