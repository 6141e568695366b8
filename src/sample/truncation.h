// The samplers that leave out unlikely tokens (and one that leaves out likely ones). Each has a file of its
// own; probabilities are those of temperature 1 among the candidates it is given.
#pragma once

#include "sample/candidates.h"

namespace ft {

// The ones whose logit is at least highest - n * sigma, sigma being the standard deviation of the finite
// logits (Tang et al., "Top-nsigma: Not All Logits Are You Need", 2024). n <= 0: all.
void keep_top_n_sigma(Candidates& candidates, double n);

// The k with the largest logits; equal ones by rising id. k <= 0: all.
void keep_top_k(Candidates& candidates, int k);

// The fewest, the most typical first, whose probabilities sum to at least p: typical is a token whose
// surprise -ln(probability) is near the expected one, the entropy (Meister et al., "Locally Typical
// Sampling", 2022). Equally typical ones by rising id. p >= 1: all.
void keep_typical(Candidates& candidates, double p);

// The fewest, the likeliest first, whose probabilities sum to at least p. p >= 1: all.
void keep_top_p(Candidates& candidates, double p);

// The ones at least min_p times as probable as the likeliest. min_p <= 0: all.
void keep_min_p(Candidates& candidates, double min_p);

// "Exclude top choices": of the tokens whose probability is at least `threshold`, all but the least likely
// are left out (of equal ones the highest id stays). Nothing where there are fewer than two such tokens.
void exclude_top_choices(Candidates& candidates, double threshold);

}  // namespace ft
