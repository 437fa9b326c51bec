import { readdirSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, join, parse } from 'node:path'
import type { ImportedAnimal } from '../../imports/animal.ts'
import { PhotoError } from '../../imports/fetchPhoto.ts'
import { hashedSource, isAddress, type WantedPhoto } from '../../imports/photos.ts'
import { photoBytesMax, photosPerPetMax } from '../../photos/photo.ts'

const imageName = /\.(?:jpe?g|png|webp)$/i
/** The second photo of "milo" is "milo-2", "milo_2", "milo 2" or "milo (2)". */
const numbered = /^(.*\S)(?:[-_ ]| ?\()(\d{1,2})\)?$/

const isSame = (a: string, b: string): boolean =>
  a.normalize('NFC').toLowerCase() === b.normalize('NFC').toLowerCase()

/** Photos in a folder, by the names of their files. */
export class PhotoFolder {
  readonly #folder: string
  readonly #names: readonly string[]
  readonly #found = new Set<string>()

  constructor(folder: string) {
    this.#folder = folder
    // Links could lead out of the folder.
    this.#names = readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isFile() && imageName.test(entry.name))
      .map(({ name }) => name)
      .sort()
  }

  /** The photos that `find` has returned for no animal. */
  get unused(): string[] {
    return this.#names.filter((name) => !this.#found.has(name))
  }

  /**
   * The photos of an animal: the files that its cells name, or else those that are named after its external id, or after its
   * name if it is the only one with it.
   */
  async find({ photos = [], externalId, name }: ImportedAnimal, isOnlyName: boolean): Promise<WantedPhoto[]> {
    if (photos.length > 0) return this.#photos(photos.map((cell) => ({ cell, file: this.#fileOf(cell) })))
    const files = [...(externalId ? this.#filesAfter(externalId) : [])]
    if (files.length === 0 && name && isOnlyName) files.push(...this.#filesAfter(name))
    return this.#photos(files.map((file) => ({ cell: file, file })))
  }

  /** One after another, because each is read. Those above the limit are not read. */
  async #photos(named: readonly { cell: string; file: string | undefined }[]): Promise<WantedPhoto[]> {
    const wanted: WantedPhoto[] = []
    for (const { cell, file } of named) {
      const name = file ?? cell
      if (file !== undefined) this.#found.add(file)
      const isRead = wanted.length < photosPerPetMax
      wanted.push(isRead ? await this.#photo(name, file) : failing(name, 'It is not read.'))
    }
    return wanted
  }

  /** A cell is a name or an address. Only the last part counts, so no cell leads out of the folder. */
  #fileOf(cell: string): string | undefined {
    const last = basename((isAddress(cell) && URL.parse(cell)?.pathname) || cell.replaceAll('\\', '/'))
    return this.#names.find((name) => isSame(name, last) || isSame(name, safeDecode(last)))
  }

  #filesAfter(key: string): string[] {
    const numberOf = (file: string): number | undefined => {
      const { name } = parse(file)
      if (isSame(name, key)) return 0
      const [, base = '', number] = numbered.exec(name) ?? []
      return isSame(base, key) ? Number(number) : undefined
    }
    return this.#names
      .map((file) => ({ file, number: numberOf(file) }))
      .filter(({ number }) => number !== undefined)
      .sort((a, b) => (a.number ?? 0) - (b.number ?? 0))
      .map(({ file }) => file)
  }

  /** The content is part of the source, so that a photo that was replaced is imported again. */
  async #photo(name: string, file: string | undefined): Promise<WantedPhoto> {
    const path = join(this.#folder, file ?? '')
    if (file === undefined) return failing(name, 'There is no such file in the folder.')
    if (statSync(path).size > photoBytesMax)
      return failing(name, `The file has more than ${photoBytesMax / 1024 / 1024} MiB.`)
    const source = hashedSource(`file:${name}`, await readFile(path))
    return { source, read: () => readFile(path) }
  }
}

const failing = (name: string, reason: string): WantedPhoto => ({
  source: `file:${name}`,
  read: () => Promise.reject(new PhotoError(reason)),
})

function safeDecode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
