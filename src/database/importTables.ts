/** The tables of imports that are not finished. */
export type ImportTables = {
  /** Imports of the command that have not ended, by the hash of their file and options. */
  imports: {
    digest: string
    /** The last line that is committed. */
    line: number
    updated_at: number
  }
  /** Imports over HTTP, see imports/http/job.ts. */
  import_jobs: {
    id: string
    state: string
    created_at: number
    updated_at: number
    expires_at: number
    /** JSON text. */
    data: string
  }
  /** What an import over HTTP still has to apply. */
  import_batches: {
    import_id: string
    position: number
    /** JSON text. */
    data: string
  }
}
