import { type List, listOf } from '../list.ts'
import type { ChangeOptions, CreateOptions, RequestOptions } from '../options.ts'
import type {
  AuditEntry,
  Import,
  Int64,
  Key,
  KeyChange,
  Limits as KeyLimits,
  KeyWithSecret,
  NewKey,
  Operations,
  Rotation,
  Usage as UsageCounts,
} from '../schema.ts'
import { Resource } from './resource.ts'

export class Limits extends Resource {
  /** The key of this client, its rate limit windows and its ban. Not counted against the rate limit. */
  get(options?: RequestOptions): Promise<KeyLimits> {
    return this.http.call('getLimits', {}, options)
  }
}

/** Requires the scope `keys:manage`. */
export class Keys extends Resource {
  /** Keys, newest first. */
  list(query: Operations['listKeys']['query'] = {}, options?: RequestOptions): List<Key> {
    return listOf(this.http, 'listKeys', { query }, options)
  }

  get(keyId: Int64, options?: RequestOptions): Promise<Key> {
    return this.http.call('getKey', { params: { keyId } }, options)
  }

  /** Creates a key. Its secret is shown only here. */
  create(key: NewKey, options?: CreateOptions): Promise<KeyWithSecret> {
    return this.http.call('createKey', { body: key }, options)
  }

  update(keyId: Int64, change: KeyChange, options?: ChangeOptions): Promise<Key> {
    return this.http.call('updateKey', { params: { keyId }, body: change }, options)
  }

  /** Revokes a key permanently. */
  revoke(keyId: Int64, options?: ChangeOptions): Promise<void> {
    return this.http.call('revokeKey', { params: { keyId } }, options)
  }

  /** Replaces the secret. The old one stays valid for the overlap. */
  rotate(
    keyId: Int64,
    rotation: Rotation = {},
    options?: CreateOptions & ChangeOptions,
  ): Promise<KeyWithSecret> {
    return this.http.call('rotateKey', { params: { keyId }, body: rotation }, options)
  }

  liftBan(keyId: Int64, options?: ChangeOptions): Promise<void> {
    return this.http.call('liftKeyBan', { params: { keyId } }, options)
  }

  /** The rate limit windows and the ban of a key. Beta. */
  limits(keyId: Int64, options?: RequestOptions): Promise<KeyLimits> {
    return this.http.call('getKeyLimits', { params: { keyId } }, options)
  }

  /** The requests of a key over time. Beta. */
  usage(keyId: Int64, options?: RequestOptions): Promise<UsageCounts> {
    return this.http.call('getKeyUsage', { params: { keyId } }, options)
  }
}

/** As long as the service may take to receive and check a file. */
const uploadTimeoutMs = 600_000

/** Requires the scope `keys:manage`. Beta: this part of the API can still change. */
export class Imports extends Resource {
  /** Checks a file of CSV. Returns what applying it would do, and changes no animal. */
  create(
    file: Blob | ArrayBuffer | Uint8Array,
    query: Operations['createImport']['query'] = {},
    options?: CreateOptions,
  ): Promise<Import> {
    const sent = { timeoutMs: uploadTimeoutMs, ...options, contentType: 'text/csv' }
    return this.http.call('createImport', { query, body: file }, sent)
  }

  /** The imports that are not erased, newest first. */
  list(options?: RequestOptions): Promise<Import[]> {
    return this.http.call('listImports', {}, options)
  }

  get(importId: string, options?: RequestOptions): Promise<Import> {
    return this.http.call('getImport', { params: { importId } }, options)
  }

  /** Starts to add and change the animals. `get` shows the progress. */
  apply(importId: string, options?: CreateOptions): Promise<Import> {
    return this.http.call('applyImport', { params: { importId } }, options)
  }

  /** Erases an import. What it has changed stays. */
  delete(importId: string, options?: RequestOptions): Promise<void> {
    return this.http.call('deleteImport', { params: { importId } }, options)
  }
}

/** Requires the scope `keys:manage`. Beta: this part of the API can still change. */
export class Usage extends Resource {
  /** The requests of all keys over time. */
  get(options?: RequestOptions): Promise<UsageCounts> {
    return this.http.call('getUsage', {}, options)
  }
}

/** Requires the scope `keys:manage`. Beta: this part of the API can still change. */
export class Audit extends Resource {
  /** Who changed what, newest first. */
  list(query: Operations['listAuditEntries']['query'] = {}, options?: RequestOptions): List<AuditEntry> {
    return listOf(this.http, 'listAuditEntries', { query }, options)
  }
}
