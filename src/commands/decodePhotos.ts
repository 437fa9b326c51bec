import { decodePhotos } from '../photos/decodeProcess.ts'

/** Started by the service for photos. It is not a command for people. */
export const run = (): Promise<void> => decodePhotos()
