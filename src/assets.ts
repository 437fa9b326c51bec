import { readdirSync, readFileSync } from 'node:fs'

/** The executable contains the assets. Bun does not have this module. */
const sea = process.getBuiltinModule?.('node:sea')
export const isExecutable = sea?.isSea() === true

/** In the executable, the path of an asset is its path in the repository. */
const base = isExecutable ? 'embedded:/src/' : import.meta.url

/** A file or folder that belongs to the program. The path is relative to this file. */
export const assetUrl = (path: string): URL => new URL(path, base)

const isEmbedded = ({ protocol }: URL): boolean => protocol === 'embedded:'
const keyOf = ({ pathname }: URL): string => pathname.slice(1)

export function readAsset(url: URL): string {
  return sea && isEmbedded(url) ? sea.getAsset(keyOf(url), 'utf8') : readFileSync(url, 'utf8')
}

/** The names of the files in a folder. Undefined if it does not exist. */
export function listAssets(folder: URL): string[] | undefined {
  if (sea && isEmbedded(folder)) {
    const names = sea.getAssetKeys().filter((key) => key.startsWith(keyOf(folder)))
    return names.length === 0 ? undefined : names.map((key) => key.slice(keyOf(folder).length))
  }
  try {
    return readdirSync(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** The URL of a script for a worker thread. A worker cannot load an embedded file by its path. */
export function workerUrl(path: string): URL {
  const url = assetUrl(path)
  return isEmbedded(url) ? new URL(`data:text/javascript,${encodeURIComponent(readAsset(url))}`) : url
}

/** The argument with which this program is the process that decodes photos. It is not a command for people. */
export const decodeCommand = 'decode-photos'
