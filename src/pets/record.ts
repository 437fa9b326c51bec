import * as z from 'zod'
import { int64, nonBlankText } from '../api/validation.ts'
import { recordId, recordTime } from '../records/resource.ts'
import { type PetStatus, petNameLengthMax, petStatuses } from './pet.ts'

const sourceLengthMax = 40

/** The name of an animal in another system. Without spaces around it, which CSV does not keep. */
export const externalIdSchema = nonBlankText(255, 'Identifies the animal in another system.').transform(
  (text) => text.trim(),
)

export const storedPetName = nonBlankText(petNameLengthMax)

export const petRecordSchema = z.object({
  // A record without a type is a pet, and a pet without an id is new. This is enough for the feed of a partner.
  type: z.literal('pet').optional(),
  id: recordId.optional(),
  name: storedPetName,
  categoryId: int64(),
  status: z.enum(petStatuses).optional(),
  externalId: externalIdSchema.optional(),
  /** The system that the external id belongs to. */
  source: nonBlankText(sourceLengthMax, 'The system that the external id belongs to.').optional(),
  createdAt: recordTime.optional(),
  updatedAt: recordTime.optional(),
  adoptedOn: z.iso.date('must be a date such as 2026-01-31').optional(),
})
export type PetRecord = z.output<typeof petRecordSchema>

/** The columns of CSV. */
export const petCsvFields = ['id', 'externalId', 'name', 'categoryId', 'status'] as const

/** A valid pet as an export writes it, or without an id as most programs do. */
const plainPet =
  /\{(?:"type": ?"pet", ?)?(?:"id": ?([1-9]\d{0,14}), ?)?"name": ?"(?!\s*")([^"\\\p{Cc}\p{Cs}]{1,255})", ?"categoryId": ?(-?[1-9]\d{0,14}|0)(?:, ?"status": ?"(available|pending|sold)")?(?:, ?"externalId": ?"(?!\s)([^"\\\p{Cc}\p{Cs}]{1,255})(?<!\s)")?(?:, ?"createdAt": ?([1-9]\d{0,14}))?(?:, ?"updatedAt": ?([1-9]\d{0,14}))?(?:, ?"adoptedOn": ?"(\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8]))")?\}\n/uy

/** An import of a million pets takes 18 s of CPU time with it and 32 s without. */
export function parsePetFast(text: string, start: number): { record: PetRecord; end: number } | undefined {
  plainPet.lastIndex = start
  const match = plainPet.exec(text)
  if (!match) return undefined
  const [, id, name = '', categoryId = '', status, externalId, createdAt, updatedAt, adoptedOn] = match
  const record: PetRecord = {
    type: 'pet',
    id: id === undefined ? undefined : Number(id),
    name,
    categoryId: BigInt(categoryId),
    status: status as PetStatus | undefined,
    externalId,
    createdAt: createdAt === undefined ? undefined : Number(createdAt),
    updatedAt: updatedAt === undefined ? undefined : Number(updatedAt),
    adoptedOn,
  }
  return { record, end: plainPet.lastIndex }
}
