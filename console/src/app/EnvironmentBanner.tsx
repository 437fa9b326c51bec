import { environment } from './session.ts'

/** Production has no banner. */
export const EnvironmentBanner = () =>
  environment === 'staging' ? (
    <aside class="environment-banner" aria-label="Environment">
      <strong>Staging</strong>
      <span>This is not the production store.</span>
    </aside>
  ) : null
