/** Started by the service for photos. It is not a command for people. */
export { run } from '../photos/decodeProcess.ts'
