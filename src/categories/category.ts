/** A category and its rules. */

export type Category = { id: bigint; name: string | undefined }

export const categoryNameLengthMax = 255

export const isCategoryName = (text: string): boolean =>
  text.trim() !== '' && [...text].length <= categoryNameLengthMax
