import type { Db } from '../database/db.ts'
import { petConflicts } from '../profiles/resource.ts'
import { FileLines } from '../records/fileLines.ts'
import type { ConflictContext, Conflicts } from '../records/resource.ts'
import { photosPerPetMax } from './photo.ts'

type ImportedPhoto = {
  readonly type: 'photo'
  readonly id: number
  readonly token: string
  readonly petId: number
}
type Line = Pick<ImportedPhoto, 'token' | 'petId'>

/** Finds photos whose animal is missing or has too many, and photos of another animal. */
export class PhotoConflicts implements Conflicts<ImportedPhoto> {
  readonly #owners = petConflicts<ImportedPhoto>('photo', ({ petId }) => petId)
  /** `photos` has the stored photos of the lines and of their animals, and those of earlier lines. */
  readonly #lines = new FileLines<Line>(`
    CREATE TABLE photos (token TEXT PRIMARY KEY, pet_id INTEGER) STRICT, WITHOUT ROWID;
    CREATE INDEX photos_by_pet ON photos (pet_id)`)
  readonly #petOf = this.#lines.database.prepare('SELECT pet_id FROM photos WHERE token = ?')
  readonly #countOf = this.#lines.database.prepare('SELECT count(*) AS count FROM photos WHERE pet_id = ?')
  readonly #add = this.#lines.database.prepare('INSERT OR IGNORE INTO photos VALUES (?, ?)')

  add(line: number, record: ImportedPhoto): void {
    const { token, petId } = record
    this.#owners.add(line, record)
    this.#lines.add(line, { token, petId })
  }

  async *find(context: ConflictContext) {
    yield* this.#owners.find(context)
    for (const lines of this.#lines.batches(context.committed)) {
      for (const { token, pet_id } of await findStored(context.db, lines)) this.#add.run(token, pet_id)
      for (const line of lines) {
        const reason = this.#findConflict(line)
        if (reason !== undefined) yield { line: line.line, reason }
      }
    }
  }

  #findConflict({ token, petId }: Line): string | undefined {
    const owner = this.#petOf.get(token)?.pet_id
    if (owner !== undefined) return owner === petId ? undefined : `the photo belongs to animal ${owner}`
    if (Number(this.#countOf.get(petId)?.count) >= photosPerPetMax)
      return `animal ${petId} has ${photosPerPetMax} photos already`
    this.#add.run(token, petId)
    return undefined
  }

  close(): void {
    this.#owners.close()
    this.#lines.close()
  }
}

/** The stored photos with the tokens of the lines, and those of their animals. */
async function findStored(db: Db | undefined, lines: readonly Line[]) {
  if (!db) return []
  const { isIn } = db.dialect
  const photos = db.selectFrom('photos').select(['token', 'pet_id'])
  const byToken = photos.where(isIn('token', [...new Set(lines.map(({ token }) => token))]))
  const byPet = photos.where(isIn('pet_id', [...new Set(lines.map(({ petId }) => petId))]))
  return [...(await byToken.execute()), ...(await byPet.execute())]
}
