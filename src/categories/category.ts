/** A category is created by a request, or without a name by the first pet that refers to it. */
export type Category = { id: bigint; name: string | undefined }

/**
 * How names are compared: they are the same if they differ only in case. Not by the database: SQLite knows the case of ASCII
 * letters only. Both conversions, because either alone keeps letters apart that differ only in case.
 */
export const foldedName = (name: string): string => name.toLowerCase().toUpperCase().normalize('NFC')
