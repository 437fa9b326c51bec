/** A name that someone chose. The direction of its letters does not change the text around it. */
export const Name = ({ children }: { children: string }) => <bdi>{children}</bdi>
